// SPDX-License-Identifier: MIT
#include "engine/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

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

}  // namespace
}  // namespace grainless
