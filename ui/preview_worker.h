// SPDX-License-Identifier: MIT
// The thread that computes previews: one job at a time, the newest wins.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "preview_model.h"
#include "preview_source.h"

namespace grainless::ui {

class PreviewWorker {
 public:
  // answer is called on the worker thread for every job that was submitted, in order, but for those
  // that another one has replaced before they began.
  PreviewWorker(PreviewSource& source, std::function<void(PreviewAnswer)> answer,
                std::function<void(std::vector<DeviceChoice>)> devices);
  // Waits for the running job, which is cancelled.
  ~PreviewWorker();

  // Replaces a job that waits and cancels one that runs.
  void submit(PreviewJob job);
  // Runs a task on the thread, before the next job and without a place in answer().
  void run_aside(std::function<void()> task);
  // Cancels what runs or is about to: its settings are no longer wanted.
  void cancel();

 private:
  void work(const std::stop_token& stop);
  std::optional<PreviewJob> take(const std::stop_token& stop);
  void run(PreviewJob job);
  void run_tasks();

  PreviewSource& source_;
  std::function<void(PreviewAnswer)> answer_;
  std::function<void(std::vector<DeviceChoice>)> devices_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<PreviewJob> next_;
  bool next_cancelled_ = false;
  std::vector<std::function<void()>> tasks_;
  std::optional<CancelToken> running_;
  std::jthread thread_;
};

}  // namespace grainless::ui
