// SPDX-License-Identifier: MIT
#include "thread_pool.h"

#include <algorithm>
#include <exception>

#include "flush_denormals.h"

namespace grainless {

ThreadPool::ThreadPool(int32_t threads) {
  if (threads <= 0)
    threads = static_cast<int32_t>(std::max(1u, std::thread::hardware_concurrency()));
  workers_.reserve(static_cast<size_t>(threads) - 1);
  try {
    for (int32_t slot = 1; slot < threads; ++slot) {
      workers_.emplace_back([this, slot] { work(slot); });
    }
  } catch (const std::exception&) {
    // The system gives no more of them, or no memory: those that started, and the caller's, do the
    // work.
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(int32_t count, const std::function<void(int32_t, int32_t)>& body) {
  std::lock_guard turn(turn_);
  {
    std::lock_guard lock(mutex_);
    body_ = &body;
    next_ = 0;
    count_ = count;
    busy_ = static_cast<int32_t>(workers_.size());
    failure_ = nullptr;
    ++round_;
  }
  start_.notify_all();
  run_indices(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void ThreadPool::work(int32_t slot) {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
    }
    run_indices(slot);
    std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void ThreadPool::run_indices(int32_t slot) {
  const FlushDenormals flush;
  for (;;) {
    int32_t index;
    {
      std::lock_guard lock(mutex_);
      if (next_ >= count_ || failure_) return;
      index = next_++;
    }
    try {
      (*body_)(index, slot);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

}  // namespace grainless
