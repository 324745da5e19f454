// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <vector>

#include "batch_clock.h"
#include "engine/stopwatch.h"
#include "file_denoiser.h"
#include "outputs.h"
#include "progress_line.h"

namespace grainless::tools {

// Pictures from files to files. While one is denoised, the next ones are read and the ones before
// are written, as far as memory allows: with a card, files take longer than the filter. Whatever
// ends first, reports and messages come in the inputs' order. Without threads to spare, steps
// follow each other.
class Batch {
 public:
  using Report = std::function<void(const Job& job, const Outcome& outcome)>;

  // All are borrowed; report is called by one thread at a time. at_once: pictures that are denoised
  // at the same time, at least 1.
  Batch(const FileDenoiser& denoiser, const std::vector<Job>& jobs, ProgressLine& progress,
        const Report& report, size_t at_once);

  // One that fails doesn't stop the others. Returns the exit code: that of the first failure, or 0.
  // Throws Error(kCancelled).
  int run();

  // What run() has done, also where it threw.
  BatchResult result();

 private:
  struct Denoised {
    Picture picture;
    std::vector<std::string> notes;  // of its reading
  };
  struct Denoising {
    size_t job;
    std::future<Denoised> result;
  };

  void show(size_t job);
  void begin_reading(size_t most);
  void begin_denoising(size_t job, std::future<Picture> read);
  void finish_denoising(size_t most_left);
  void write(size_t job, Picture picture);
  void tell(size_t job, const Picture& picture, const std::exception_ptr& failure);
  void report(const Job& job, const Picture& picture);
  void finish_writing(size_t most_left);
  void fail(const Error& error);

  const FileDenoiser& denoiser_;
  const std::vector<Job>& jobs_;
  ProgressLine& progress_;
  const Report& report_;
  size_t at_once_;
  size_t ahead_;     // pictures that are read, and written, beside those that are denoised
  uint64_t memory_;  // bytes that there were before the first one
  size_t read_ = 0;  // jobs whose reading has begun
  int code_ = 0;
  BatchResult result_;  // but for its seconds
  Stopwatch clock_;

  std::mutex mutex_;
  std::condition_variable told_;
  size_t turn_ = 0;  // the job that may be told about

  std::deque<std::future<Picture>> reading_;
  std::deque<Denoising> denoising_;
  std::deque<std::future<void>> writing_;
};

}  // namespace grainless::tools
