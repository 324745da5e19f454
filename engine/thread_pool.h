// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
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
  // (0..size()-1) names the thread, for scratch memory. The first exception stops the loop and is
  // rethrown. Calls from several threads take turns. Bodies see no denormal numbers
  // (flush_denormals.h).
  void parallel_for(int32_t count, const std::function<void(int32_t index, int32_t slot)>& body);

 private:
  void work(int32_t slot);
  void run_indices(int32_t slot);

  std::mutex turn_;  // held by the caller of parallel_for
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(int32_t, int32_t)>* body_ = nullptr;
  int32_t next_ = 0, count_ = 0, busy_ = 0;
  uint64_t round_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> workers_;
};

}  // namespace grainless
