// SPDX-License-Identifier: MIT
// How a host follows and ends a long call.
#pragma once

#include <atomic>
#include <functional>

#include "engine/boundary/status.h"

namespace grainless {

// Set from any thread; polled by the loops at least every 50 ms.
class CancelToken {
 public:
  void cancel() { flag_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return flag_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> flag_{false};
};

// Of work that nobody can end the token is null.
inline void throw_if_cancelled(const CancelToken* cancel) {
  if (cancel != nullptr && cancel->cancelled()) throw Error(ErrorCode::kCancelled, "cancelled");
}

// What a long call asks its host and reports to it, from any of its threads.
struct Callbacks {
  const CancelToken* cancel = nullptr;
  std::function<void(double fraction)> progress;  // 0..1, never decreasing

  bool cancelled() const { return cancel != nullptr && cancel->cancelled(); }
  void report(double fraction) const {
    if (progress) progress(fraction);
  }
};

inline void throw_if_cancelled(const Callbacks& callbacks) {
  throw_if_cancelled(callbacks.cancel);
}

}  // namespace grainless
