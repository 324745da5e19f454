// SPDX-License-Identifier: MIT
// Work beside the caller's, or in its turn.
#pragma once

#include <future>
#include <memory>
#include <utility>

namespace grainless::tools {

// Runs task() in a thread of its own; where the system gives none, when the result is asked for.
// libstdc++'s std::async moves a temporary into the thread's state first, and once that thread is
// refused into the other's: what it owned is gone by then. So it gets what it must copy.
template <typename Task>
auto in_background(Task task, std::launch policy = std::launch::async | std::launch::deferred) {
  const auto turn = [held = std::make_shared<Task>(std::move(task))] { return (*held)(); };
  return std::async(policy, turn);
}

}  // namespace grainless::tools
