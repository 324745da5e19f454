// SPDX-License-Identifier: MIT
#include "preview_worker.h"

#include <utility>

namespace grainless::ui {

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
    if (running_) running_->cancel();
  }
  changed_.notify_one();
}

void PreviewWorker::cancel() {
  const std::lock_guard lock(mutex_);
  next_.reset();
  if (running_) running_->cancel();
}

void PreviewWorker::work(const std::stop_token& stop) {
  // Before the first job: opening a graphics card takes a while, and the first preview needs it
  // too.
  std::vector<DeviceChoice> devices;
  const Status listed = guard([&] { devices = source_.devices(); });
  if (listed.ok()) devices_(std::move(devices));
  while (const std::optional<PreviewJob> job = take(stop)) run(*job);
}

std::optional<PreviewJob> PreviewWorker::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return next_.has_value(); })) return std::nullopt;
  running_ = std::make_unique<CancelToken>();
  return std::exchange(next_, std::nullopt);
}

void PreviewWorker::run(const PreviewJob& job) {
  PreviewAnswer answer{job.generation, {}, {}};
  Callbacks callbacks;
  callbacks.cancel = running_.get();
  Status status;
  const Status guarded =
      guard([&] { status = source_.denoise(job.params, job.rect, callbacks, answer.result); });
  answer.status = guarded.ok() ? status : guarded;
  {
    const std::lock_guard lock(mutex_);
    running_.reset();
  }
  answer_(std::move(answer));
}

}  // namespace grainless::ui
