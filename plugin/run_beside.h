// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <future>

#include "drawable_io.h"
#include "engine/boundary/status.h"

namespace grainless {

inline constexpr std::chrono::milliseconds kTick(20);  // the dialog is answered so often

// Runs work on another thread while this one, the only one that may talk to GIMP, shows progress.
// Cancel in GIMP ends this process; nothing has been merged then.
template <typename Work>
void run_beside(const Work& work, const CallMonitor& monitor) {
  std::atomic<double> fraction = 0;
  Callbacks callbacks;
  callbacks.cancel = monitor.cancel;
  callbacks.progress = [&](double value) { fraction.store(value, std::memory_order_relaxed); };
  auto done = std::async(std::launch::async, [&] {
    Status status;
    const Status guarded = guard([&] { status = work(callbacks); });
    return guarded.ok() ? status : guarded;
  });
  while (done.wait_for(kTick) == std::future_status::timeout) {
    monitor.progress(fraction.load(std::memory_order_relaxed));
  }
  throw_if_failed(done.get());
}

}  // namespace grainless
