// SPDX-License-Identifier: MIT
// How soon a cancel is answered. Other programs may have the processor for a while: a limit on time
// is one for the quickest of a few answers.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "engine/progress.h"

namespace grainless::test {

// Runs work and cancels it after a while; seconds from the cancel to its end. The work must take
// longer than that while.
inline double seconds_to_cancel(std::chrono::milliseconds wait,
                                const std::function<void(const Callbacks&)>& work) {
  using Clock = std::chrono::steady_clock;
  CancelToken cancel;
  Callbacks callbacks;
  callbacks.cancel = &cancel;
  Clock::time_point asked;
  std::thread user([&] {
    std::this_thread::sleep_for(wait);
    asked = Clock::now();
    cancel.cancel();
  });
  work(callbacks);
  const Clock::time_point answered = Clock::now();
  user.join();
  return std::chrono::duration<double>(answered - asked).count();
}

// The shortest of at most four, the first below `enough` at once.
inline double quickest(double enough, const std::function<double()>& seconds) {
  double least = seconds();
  for (int i = 0; i < 3 && least >= enough; ++i) least = std::min(least, seconds());
  return least;
}

}  // namespace grainless::test
