// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <future>

#include "drawable_io.h"
#include "engine/boundary/status.h"

namespace grainless {

inline constexpr std::chrono::milliseconds kTick(20);  // the dialog is answered so often

// Work on another thread than this one, the only one that may talk to GIMP. Destroyed before its
// end it waits: ask the work to stop first. Cancel in GIMP ends this process; nothing has been
// merged then.
class WorkBeside {
 public:
  // `work` is a Status of (const Callbacks&); cancel may be null.
  template <typename Work>
  WorkBeside(const Work& work, const CancelToken* cancel) {
    callbacks_.cancel = cancel;
    callbacks_.progress = [this](double value) {
      fraction_.store(value, std::memory_order_relaxed);
    };
    done_ = std::async(std::launch::async, [this, work] {
      Status status;
      const Status guarded = guard([&] { status = work(callbacks_); });
      return guarded.ok() ? status : guarded;
    });
  }
  WorkBeside(const WorkBeside&) = delete;
  WorkBeside& operator=(const WorkBeside&) = delete;

  double fraction() const { return fraction_.load(std::memory_order_relaxed); }
  // Whether it has ended within that time.
  bool ends_within(std::chrono::milliseconds time) const {
    return done_.wait_for(time) != std::future_status::timeout;
  }
  // Waits for the end and throws what the work failed with. Once.
  void finish() { throw_if_failed(done_.get()); }

 private:
  std::atomic<double> fraction_ = 0;
  Callbacks callbacks_;
  std::future<Status> done_;  // joined first
};

// Runs work while this thread shows its progress.
template <typename Work>
void run_beside(const Work& work, const CallMonitor& monitor) {
  WorkBeside beside(work, monitor.cancel);
  while (!beside.ends_within(kTick)) monitor.progress(beside.fraction());
  beside.finish();
}

}  // namespace grainless
