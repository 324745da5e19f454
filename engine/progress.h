// SPDX-License-Identifier: MIT
// How a host follows and ends a long call.
#pragma once

#include <atomic>
#include <functional>

namespace grainless {

// Set from any thread; polled by the loops at least every 50 ms.
class CancelToken {
 public:
  void cancel() { flag_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return flag_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> flag_{false};
};

// What a long call asks its host and reports to it, from any of its threads.
struct Callbacks {
  const CancelToken* cancel = nullptr;
  std::function<void(double fraction)> progress;  // 0..1, never decreasing

  bool cancelled() const { return cancel != nullptr && cancel->cancelled(); }
  void report(double fraction) const {
    if (progress) progress(fraction);
  }
};

}  // namespace grainless
