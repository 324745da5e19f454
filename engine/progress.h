// SPDX-License-Identifier: MIT
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

// What a long call reports to and asks of its host. Both may be called from worker threads.
struct Callbacks {
  const CancelToken* cancel = nullptr;
  std::function<void(double fraction)> progress;  // 0..1, never falling

  bool cancelled() const { return cancel != nullptr && cancel->cancelled(); }
  void report(double fraction) const {
    if (progress) progress(fraction);
  }
};

}  // namespace grainless
