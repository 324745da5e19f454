// SPDX-License-Identifier: MIT
#include "interruptible.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <future>

namespace grainless::python {
namespace {

constexpr std::chrono::milliseconds kTurn{50};

// Ctrl+C counts in Python's main thread only.
void look_at_signals() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// Whether the work ended within a turn, or waits to be done by this thread as the system gave no
// other.
bool wait(std::future<Status>& running) {
  const nanobind::gil_scoped_release others_may_run;
  return running.wait_for(kTurn) != std::future_status::timeout;
}

// The work's end, which is near once it is cancelled.
Status end_of(std::future<Status>& running) {
  const nanobind::gil_scoped_release others_may_run;
  return running.get();
}

}  // namespace

Status interruptible(const nanobind::object& progress,
                     const std::function<Status(const Callbacks& callbacks)>& work) {
  CancelToken token;
  std::atomic<double> fraction{0};
  const Callbacks callbacks{&token, [&](double done) { fraction = done; }};
  const bool reports = progress.is_valid() && !progress.is_none();
  std::future<Status> running = std::async([&] { return work(callbacks); });
  std::exception_ptr raised;
  while (!wait(running)) {
    try {
      look_at_signals();
      if (reports) progress(fraction.load());
    } catch (...) {
      raised = std::current_exception();
      token.cancel();
      break;
    }
  }
  const Status status = end_of(running);
  if (raised) std::rethrow_exception(raised);
  if (reports && status.ok()) progress(1.0);
  return status;
}

}  // namespace grainless::python
