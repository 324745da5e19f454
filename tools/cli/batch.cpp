// SPDX-License-Identifier: MIT
#include "batch.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "background.h"
#include "engine/platform/system.h"
#include "engine_setup.h"

namespace grainless::tools {
namespace {

PictureCost cost_of(const Picture& picture) {
  const Image& image = picture.image;
  return {.bytes = 1.0 * image.format.pixel_bytes() * image.width * image.height,
          .read = picture.outcome.read,
          .filter = picture.outcome.denoise + picture.outcome.report.estimate};
}

}  // namespace

Batch::Batch(const FileDenoiser& denoiser, const std::vector<Job>& jobs, ProgressLine& progress,
             const Report& report, size_t at_once)
    : denoiser_(denoiser),
      jobs_(jobs),
      progress_(progress),
      report_(report),
      at_once_(at_once),
      ahead_(at_once),
      memory_(available_memory()) {}

int Batch::run() {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    finish_denoising(at_once_ - 1);
    show(i);
    begin_reading(std::max<size_t>(ahead_, 1));
    std::future<Picture> current = std::move(reading_.front());
    current.wait();
    reading_.pop_front();
    begin_reading(ahead_);
    begin_denoising(i, std::move(current));
  }
  finish_denoising(0);
  finish_writing(0);
  return code_;
}

BatchResult Batch::result() {
  const std::lock_guard lock(mutex_);
  BatchResult result = result_;
  result.seconds = clock_.seconds();
  return result;
}

void Batch::show(size_t job) {
  std::string line = "[" + std::to_string(job + 1) + "/" + std::to_string(jobs_.size());
  const std::string rate = rate_text(job, jobs_.size() - job, clock_.seconds());
  if (!rate.empty()) line += ", " + rate;
  progress_.start(line + "] " + jobs_[job].input);
}

void Batch::begin_reading(size_t most) {
  while (read_ < jobs_.size() && reading_.size() < most) {
    reading_.push_back(in_background([this, &job = jobs_[read_]] { return denoiser_.read(job); }));
    ++read_;
  }
}

// A single picture stays in this thread, which has nothing else to do.
void Batch::begin_denoising(size_t job, std::future<Picture> read) {
  const auto policy =
      at_once_ > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
  auto task = [this, job, read = std::move(read)]() mutable {
    Picture picture = read.get();
    const std::vector<std::string> notes = std::move(picture.notes);
    picture.notes.clear();
    denoiser_.denoise(jobs_[job], picture);
    return Denoised{std::move(picture), notes};
  };
  denoising_.push_back({job, in_background(std::move(task), policy)});
}

void Batch::finish_denoising(size_t most_left) {
  while (denoising_.size() > most_left) {
    const size_t job = denoising_.front().job;
    std::future<Denoised> oldest = std::move(denoising_.front().result);
    denoising_.pop_front();
    try {
      Denoised denoised = oldest.get();
      for (const std::string& note : denoised.notes) progress_.say("note: " + note);
      // More than one at once are what the user has room for.
      const size_t ahead = pictures_ahead(cost_of(denoised.picture), memory_);
      ahead_ = at_once_ > 1 ? std::max(at_once_, ahead) : ahead;
      finish_writing(std::max<size_t>(ahead_, 1) - 1);
      write(job, std::move(denoised.picture));
      if (ahead_ == 0) finish_writing(0);
    } catch (const Error& error) {
      finish_writing(0);
      fail(error);
      turn_ = job + 1;
    }
  }
}

void Batch::write(size_t job, Picture picture) {
  writing_.push_back(in_background([this, job, picture = std::move(picture)]() mutable {
    std::exception_ptr failure;
    try {
      denoiser_.write(jobs_[job], picture);
    } catch (...) {
      failure = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    told_.wait(lock, [&] { return turn_ == job; });
    turn_ = job + 1;  // whatever follows: the next one must not wait for ever
    told_.notify_all();
    tell(job, picture, failure);
  }));
}

void Batch::tell(size_t job, const Picture& picture, const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
    report(jobs_[job], picture);
    ++result_.done;
  } catch (const Error& error) {
    fail(error);
  }
}

// The picture is written: a report without memory is no failure of it.
void Batch::report(const Job& job, const Picture& picture) {
  try {
    for (const std::string& note : picture.notes) progress_.say("note: " + note);
    report_(job, picture.outcome);
  } catch (const std::bad_alloc&) {
    std::fputs("grainless: a picture is written, but there was no memory to report it\n", stderr);
  }
}

void Batch::finish_writing(size_t most_left) {
  while (writing_.size() > most_left) {
    std::future<void> oldest = std::move(writing_.front());
    writing_.pop_front();
    oldest.get();
  }
}

void Batch::fail(const Error& error) {
  if (error.code() == ErrorCode::kCancelled) throw error;
  progress_.say(error.what());
  result_.failures.emplace_back(error.what());
  if (code_ == 0) code_ = exit_code(error.code());
}

}  // namespace grainless::tools
