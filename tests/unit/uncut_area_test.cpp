// SPDX-License-Identifier: MIT
#include "engine/backends/uncut_area.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace grainless {
namespace {

TEST(UncutArea, IsCutEvenlyRowByRow) {
  UncutArea area({10, 20, 1025, 100});
  EXPECT_EQ(area.tiles({1024, 60}), 4);
  const Rect expected[] = {
      {10, 20, 513, 50}, {523, 20, 512, 50}, {10, 70, 513, 50}, {523, 70, 512, 50}};
  for (const Rect& tile : expected) EXPECT_EQ(area.take({1024, 60}), tile);
  EXPECT_TRUE(area.empty());
}

TEST(UncutArea, WhatIsPutBackIsOneAgain) {
  const Rect whole{0, 0, 6000, 4000};
  UncutArea area(whole);
  for (TileSize size{6000, 4000}; size.width > 64; size = {size.width / 2, size.height / 2}) {
    area.put_back(area.take(size));
    EXPECT_EQ(area.tiles({6000, 4000}), 1);
  }
  EXPECT_EQ(area.take({6000, 4000}), whole);
}

// Whatever sizes several hands took at once, and in whatever order it comes back.
TEST(UncutArea, WhatSeveralHeldIsOneAgain) {
  const Rect whole{0, 0, 97, 61};
  std::mt19937 random(7);
  const auto draw = [&](int32_t most) { return 1 + static_cast<int32_t>(random() % most); };
  for (int round = 0; round < 500; ++round) {
    UncutArea area(whole);
    std::vector<Rect> held;
    for (int move = 0; move < 30; ++move) {
      if (!area.empty() && held.size() < 4) held.push_back(area.take({draw(97), draw(61)}));
      if (random() % 2 == 0) continue;
      const size_t chosen = random() % held.size();
      area.put_back(held[chosen]);
      held.erase(held.begin() + static_cast<ptrdiff_t>(chosen));
      if (held.empty()) break;
    }
    for (const Rect& tile : held) area.put_back(tile);
    ASSERT_EQ(area.take({97, 61}), whole) << "round " << round;
  }
}

// However tiles of any size come and go, each pixel is taken once for good.
TEST(UncutArea, EveryPixelIsTakenOnce) {
  constexpr int32_t kWidth = 97, kHeight = 61;
  std::mt19937 random(5);
  const auto draw = [&](int32_t most) { return 1 + static_cast<int32_t>(random() % most); };
  for (int round = 0; round < 200; ++round) {
    UncutArea area({0, 0, kWidth, kHeight});
    std::vector<int> taken(kWidth * kHeight);
    std::vector<Rect> held;
    while (!area.empty() || !held.empty()) {
      if (!area.empty()) held.push_back(area.take({draw(kWidth), draw(kHeight)}));
      if (held.size() < 3 && !area.empty()) continue;
      const size_t chosen = random() % held.size();
      const Rect tile = held[chosen];
      held.erase(held.begin() + static_cast<ptrdiff_t>(chosen));
      if (random() % 2 == 0) {
        area.put_back(tile);
        continue;
      }
      for (int32_t y = tile.y; y < tile.bottom(); ++y) {
        for (int32_t x = tile.x; x < tile.right(); ++x) ++taken[y * kWidth + x];
      }
    }
    EXPECT_EQ(taken, std::vector<int>(kWidth * kHeight, 1));
  }
}

}  // namespace
}  // namespace grainless
