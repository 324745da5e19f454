// SPDX-License-Identifier: MIT
#include "interruptible.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <mutex>
#include <set>
#include <thread>

namespace grainless::python {
namespace {

constexpr std::chrono::milliseconds kTurn{50};

// Ctrl+C counts in Python's main thread only.
void look_at_signals() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// The calls that are at work, and Python's end: it ends threads that ask for the GIL after it, in a
// way that no C++ frame survives.
class Calls {
 public:
  void add(CancelToken& token) {
    const std::lock_guard lock(mutex_);
    if (ended()) token.cancel();
    tokens_.insert(&token);
  }

  void remove(CancelToken& token) {
    const std::lock_guard lock(mutex_);
    tokens_.erase(&token);
    removed_.notify_all();
  }

  // Whether the calling thread must not ask for the GIL any more. The one that ends Python may.
  bool ended() const {
    const std::thread::id by = end_;
    return by != std::thread::id{} && by != std::this_thread::get_id();
  }

  // Whether there were any.
  bool end() {
    std::unique_lock lock(mutex_);
    const bool any = !tokens_.empty();
    end_ = std::this_thread::get_id();
    for (CancelToken* token : tokens_) token->cancel();
    removed_.wait_for(lock, kEnd, [this] { return tokens_.empty(); });
    return any;
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    tokens_.clear();
  }

 private:
  static constexpr std::chrono::seconds kEnd{5};  // a progress function may never return

  std::mutex mutex_;  // held with the GIL, or when Python ends: never while another thread forks
  std::condition_variable removed_;
  std::set<CancelToken*> tokens_;
  std::atomic<std::thread::id> end_{};  // the thread that ends Python
};

// Outlives the process's static objects: threads may wait for its end.
Calls& calls() {
  static auto* const all = new Calls;
  return *all;
}

// One call, from its begin to its end.
class Call {
 public:
  Call() { calls().add(token_); }
  ~Call() { calls().remove(token_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  CancelToken& token() { return token_; }

  // look(running) without the GIL.
  template <typename Look>
  auto look_at(std::future<Status>& running, Look look) {
    const nanobind::gil_scoped_release others_may_run;
    auto seen = look(running);
    if (calls().ended()) stay(running);
    return seen;
  }

 private:
  // Until the process is gone.
  [[noreturn]] void stay(const std::future<Status>& running) {
    if (running.valid()) running.wait();
    calls().remove(token_);
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }

  CancelToken token_;
};

// Whether the work goes on after a turn, in which it neither ended nor turned out to wait to be
// done by this thread as the system gave no other.
bool goes_on(std::future<Status>& running) {
  return running.wait_for(kTurn) == std::future_status::timeout;
}

// The work's end, which is near once it is cancelled.
Status end_of(std::future<Status>& running) {
  return running.get();
}

}  // namespace

Status interruptible(const nanobind::object& progress,
                     const std::function<Status(const Callbacks& callbacks)>& work) {
  Call call;
  std::atomic<double> fraction{0};
  const Callbacks callbacks{&call.token(), [&](double done) { fraction = done; }};
  const bool reports = progress.is_valid() && !progress.is_none();
  std::future<Status> running = std::async([&] { return work(callbacks); });
  std::exception_ptr raised;
  while (call.look_at(running, goes_on)) {
    try {
      look_at_signals();
      if (reports) progress(fraction.load());
    } catch (...) {
      raised = std::current_exception();
      call.token().cancel();
      break;
    }
  }
  const Status status = call.look_at(running, end_of);
  if (raised) std::rethrow_exception(raised);
  if (reports && status.ok()) progress(1.0);
  return status;
}

void end_calls() {
  bool any = false;
  {
    const nanobind::gil_scoped_release others_may_run;
    any = calls().end();
  }
  // What those calls hold stays to the process's end.
  if (any) nanobind::set_leak_warnings(false);
}

void forget_calls() {
  calls().forget();
}

}  // namespace grainless::python
