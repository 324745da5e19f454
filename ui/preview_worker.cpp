// SPDX-License-Identifier: MIT
#include "preview_worker.h"

#include <algorithm>
#include <utility>

namespace grainless::ui {
namespace {

// Cuts here, where it doesn't hold up the window.
Piece piece_of(const PreviewJob& job, Bitmap bitmap) {
  if (!job.coarse) return cut(std::move(bitmap), job.settings, job.level);
  Piece piece;
  piece.settings = job.settings;
  piece.coarse_rect = job.rect;
  piece.coarse_level = coarse_level(job);
  piece.coarse = std::move(bitmap);
  return piece;
}

}  // namespace

PreviewWorker::PreviewWorker(PreviewSource& source, std::function<void(PreviewAnswer)> answer,
                             std::function<void(std::vector<DeviceChoice>)> devices)
    : source_(source),
      answer_(std::move(answer)),
      devices_(std::move(devices)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

PreviewWorker::~PreviewWorker() {
  source_.stop();
  cancel();
  thread_.request_stop();
}

void PreviewWorker::submit(PreviewJob job) {
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(job);
    next_cancelled_ = false;
    if (running_) running_->cancel();
  }
  changed_.notify_one();
}

void PreviewWorker::run_aside(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void PreviewWorker::cancel() {
  const std::lock_guard lock(mutex_);
  next_cancelled_ = true;
  if (running_) running_->cancel();
}

void PreviewWorker::work(const std::stop_token& stop) {
  // Before the first job: opening a graphics card takes a while, and the first preview needs it
  // too.
  (void)guard([&] { devices_(source_.devices()); });
  while (!stop.stop_requested()) {
    // A job's failure is its answer. What fails beside it, a task or the answering, must not end
    // the program with the user's other pictures in it.
    (void)guard([&] {
      std::optional<PreviewJob> job = take(stop);
      run_tasks();
      if (job) run(std::move(*job));
    });
  }
}

std::optional<PreviewJob> PreviewWorker::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [this] { return next_.has_value() || !tasks_.empty(); });
  if (!next_ || stop.stop_requested()) return std::nullopt;
  running_.emplace();
  if (next_cancelled_) running_->cancel();
  return std::exchange(next_, std::nullopt);
}

void PreviewWorker::run_tasks() {
  std::unique_lock lock(mutex_);
  while (!tasks_.empty()) {
    const auto task = std::move(tasks_.front());
    tasks_.erase(tasks_.begin());
    lock.unlock();
    (void)guard(task);
    lock.lock();
  }
}

void PreviewWorker::run(PreviewJob job) {
  PreviewAnswer answer;
  Callbacks callbacks;
  callbacks.cancel = &*running_;
  Status status;
  const Status guarded = guard([&] {
    throw_if_cancelled(callbacks);
    PreviewResult result;
    status = source_.denoise(job, callbacks, result);
    if (!status.ok()) return;
    answer.info = std::move(result.info);
    answer.piece = piece_of(job, std::move(result.bitmap));
  });
  answer.status = guarded.ok() ? status : guarded;
  answer.job = std::move(job);
  {
    const std::lock_guard lock(mutex_);
    running_.reset();
  }
  answer_(std::move(answer));
}

}  // namespace grainless::ui
