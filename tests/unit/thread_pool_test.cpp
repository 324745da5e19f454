// SPDX-License-Identifier: MIT
#include "engine/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <sys/resource.h>
#endif

// GCC and Clang say it in two ways.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GRAINLESS_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GRAINLESS_SANITIZED
#endif
#endif

namespace grainless {
namespace {

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (int32_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int32_t count : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> seen(count);
      pool.parallel_for(count, [&](int32_t index, int32_t slot) {
        ASSERT_LT(slot, threads);
        ++seen[index];
      });
      for (const auto& times : seen) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadPool, FirstExceptionStopsTheLoopAndThePoolStaysUsable) {
  ThreadPool pool(3);
  EXPECT_THROW(pool.parallel_for(100,
                                 [](int32_t i, int32_t) {
                                   if (i == 5) throw std::runtime_error("five");
                                 }),
               std::runtime_error);
  std::atomic<int> sum = 0;
  pool.parallel_for(10, [&](int32_t i, int32_t) { sum += i; });
  EXPECT_EQ(sum, 45);
}

// Each ends while the others last, also without any thread but the callers'.
TEST(ThreadPool, LoopsOfSeveralThreadsDoNotWaitForEachOther) {
  constexpr int32_t kShort = 20;
  for (int32_t threads : {1, 3}) {
    ThreadPool pool(threads);
    std::atomic<bool> begun = false, over = false;
    std::atomic<int32_t> sum = 0;
    std::thread other([&] {
      pool.parallel_for(1000, [&](int32_t, int32_t) {
        begun = true;
        if (!over) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      });
    });
    while (!begun) std::this_thread::yield();
    const auto start = std::chrono::steady_clock::now();
    for (int32_t i = 0; i < kShort; ++i) {
      pool.parallel_for(2, [&](int32_t, int32_t slot) {
        ASSERT_LT(slot, threads);
        ++sum;
      });
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    over = true;
    other.join();
    EXPECT_EQ(sum, 2 * kShort);
    EXPECT_LT(took.count(), 1) << "of " << threads << " threads";
  }
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST(ThreadPool, BodiesSeeNoDenormalNumbersAndTheCallerDoesAsBefore) {
  const volatile float small = std::numeric_limits<float>::min();
  const volatile float denormal = small / 4;
  ThreadPool pool(3);
  std::atomic<int> seen = 0;
  pool.parallel_for(100, [&](int32_t, int32_t) {
    if (small / 4 != 0 || denormal * 8 != 0) ++seen;
  });
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(denormal * 4, small);
}
#endif

#ifndef _WIN32
// In a process of its own: address space for a few more thread stacks and no more.
[[noreturn]] void start_more_threads_than_there_can_be() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * 4096 + (uint64_t{200} << 20);
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(2);
  ThreadPool pool(4096);
  std::atomic<int> sum = 0;
  pool.parallel_for(10, [&](int32_t i, int32_t) { sum += i; });
  std::exit(pool.size() < 4096 && sum == 45 ? 0 : 1);
}
#endif

TEST(ThreadPoolDeathTest, MakesDoWithTheThreadsThatTheSystemGives) {
#if defined(_WIN32)
  GTEST_SKIP() << "Windows sets no bound to a process's address space";
#elif defined(GRAINLESS_SANITIZED)
  GTEST_SKIP() << "sanitizers end the process when memory is short";
#else
  EXPECT_EXIT(start_more_threads_than_there_can_be(), ::testing::ExitedWithCode(0), "");
#endif
}

}  // namespace
}  // namespace grainless
