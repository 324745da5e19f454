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
  const FlushDenormals flush;
  Loop loop{body, count};
  std::unique_lock lock(mutex_);
  loops_.push_back(&loop);
  start_.notify_all();
  while (loop.has_more()) run_index(loop, 0, lock);
  std::erase(loops_, &loop);
  done_.wait(lock, [&] { return loop.running == 0; });
  if (loop.failure) std::rethrow_exception(loop.failure);
}

void ThreadPool::work(int32_t slot) {
  const FlushDenormals flush;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (Loop* loop = emptiest()) {
      run_index(*loop, slot, lock);
      if (loop->running == 0) done_.notify_all();
    } else {
      start_.wait(lock);
    }
  }
}

ThreadPool::Loop* ThreadPool::emptiest() const {
  Loop* found = nullptr;
  for (Loop* loop : loops_) {
    if (loop->has_more() && (found == nullptr || loop->running < found->running)) found = loop;
  }
  return found;
}

void ThreadPool::run_index(Loop& loop, int32_t slot, std::unique_lock<std::mutex>& lock) {
  const int32_t index = loop.next++;
  ++loop.running;
  lock.unlock();
  std::exception_ptr failure;
  try {
    loop.body(index, slot);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure && !loop.failure) loop.failure = failure;
  --loop.running;
}

}  // namespace grainless
