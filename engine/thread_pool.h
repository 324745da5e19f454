// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace grainless {

// Threads that wait for loops. Which thread runs which index never influences a result: bodies
// write to places that depend on the index alone.
class ThreadPool {
 public:
  // 0: one a core. Where the system gives fewer, size() says how many there are.
  explicit ThreadPool(int32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int32_t size() const { return static_cast<int32_t>(workers_.size()) + 1; }

  // body(index, slot) for every index in 0..count-1, in increasing order of start; slot
  // (0..size()-1) names the thread, for this loop's scratch memory. The first exception stops the
  // loop and is rethrown. Several threads may call: each works on its own loop at once, and the
  // others go where fewest are. Bodies see no denormal numbers (flush_denormals.h).
  void parallel_for(int32_t count, const std::function<void(int32_t index, int32_t slot)>& body);

 private:
  struct Loop {
    const std::function<void(int32_t, int32_t)>& body;
    const int32_t count;
    int32_t next = 0, running = 0;
    std::exception_ptr failure = nullptr;

    bool has_more() const { return next < count && !failure; }
  };

  void work(int32_t slot);
  Loop* emptiest() const;
  static void run_index(Loop& loop, int32_t slot, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable start_, done_;
  std::vector<Loop*> loops_;  // of the threads in parallel_for()
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace grainless
