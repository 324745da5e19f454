// SPDX-License-Identifier: MIT
#include "engine/cell_cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace grainless {
namespace {

constexpr double kMargin = 1.3;

void mark(CellMask& mask, const Rect& cells) {
  for (int32_t y = cells.y; y < cells.bottom(); ++y) {
    for (int32_t x = cells.x; x < cells.right(); ++x) mask.at(x, y) = 1;
  }
}

int64_t area_of(const std::vector<Rect>& parts) {
  int64_t area = 0;
  for (const Rect& part : parts) area += part.area();
  return area;
}

bool holds_all(const CellMask& mask, const std::vector<Rect>& parts) {
  for (int32_t y = 0; y < mask.all().height; ++y) {
    for (int32_t x = 0; x < mask.all().width; ++x) {
      const auto holds = [&](const Rect& part) { return part.contains(x, y); };
      if (mask.at(x, y) && std::none_of(parts.begin(), parts.end(), holds)) return false;
    }
  }
  return true;
}

TEST(CellCover, CellsAndPixelsConvertBothWays) {
  const CellMask mask({100, 50, 70, 33});
  EXPECT_EQ(mask.all(), (Rect{0, 0, 3, 2}));
  EXPECT_EQ(mask.pixels({0, 0, 1, 1}), (Rect{100, 50, kCell, kCell}));
  EXPECT_EQ(mask.pixels({2, 1, 1, 1}), (Rect{164, 82, 6, 1})) << "the last are smaller";
  EXPECT_EQ(mask.cells({132, 50, 1, 33}), (Rect{1, 0, 1, 2}));
  EXPECT_EQ(mask.cells(mask.pixels(mask.all())), mask.all());
}

TEST(CellCover, NothingNeedsNothing) {
  EXPECT_TRUE(cover(CellMask({0, 0, 400, 400}), kMargin).empty());
  EXPECT_TRUE(cover(CellMask(), kMargin).empty());
}

TEST(CellCover, AFullMaskIsOneRectangle) {
  CellMask mask({0, 0, 640, 320});
  mark(mask, mask.all());
  EXPECT_EQ(cover(mask, kMargin), std::vector{mask.all()});
  mask.at(7, 3) = 0;
  EXPECT_EQ(cover(mask, kMargin), std::vector{mask.all()}) << "a hole costs less than going round";
}

// What moving frames show of the scene's borders.
TEST(CellCover, AFrameIsCoveredByItsSides) {
  const Rect all{0, 0, 120, 80};
  CellMask mask({0, 0, all.width * kCell, all.height * kCell});
  mark(mask, {0, 0, 120, 2});
  mark(mask, {0, 78, 120, 2});
  mark(mask, {0, 0, 3, 80});
  mark(mask, {117, 0, 3, 80});
  const std::vector<Rect> parts = cover(mask, kMargin);
  EXPECT_TRUE(holds_all(mask, parts));
  EXPECT_LE(parts.size(), 8u);
  EXPECT_LT(area_of(parts), all.area() / 8);
}

TEST(CellCover, PlacesFarFromEachOtherAreApart) {
  CellMask mask({0, 0, 100 * kCell, 100 * kCell});
  mark(mask, {3, 4, 5, 6});
  mark(mask, {80, 70, 1, 1});
  std::vector<Rect> parts = cover(mask, kMargin);
  ASSERT_EQ(parts.size(), 2u);
  std::sort(parts.begin(), parts.end(), [](const Rect& a, const Rect& b) { return a.x < b.x; });
  EXPECT_EQ(parts[0], (Rect{3, 4, 5, 6}));
  EXPECT_EQ(parts[1], (Rect{80, 70, 1, 1}));
}

TEST(CellCover, AnyCellsAreHeld) {
  std::mt19937 random(3);
  for (int32_t i = 0; i < 300; ++i) {
    const auto side = [&] { return static_cast<int32_t>(random() % 2500 + 1); };
    CellMask mask({static_cast<int32_t>(random() % 99), 7, side(), side()});
    const auto some = static_cast<int32_t>(random() % 40);
    for (int32_t n = 0; n < some; ++n) {
      const auto x = static_cast<int32_t>(random() % static_cast<uint32_t>(mask.all().width));
      const auto y = static_cast<int32_t>(random() % static_cast<uint32_t>(mask.all().height));
      mark(mask, intersect({x, y, side() / 500, side() / 500}, mask.all()));
    }
    const std::vector<Rect> parts = cover(mask, kMargin);
    EXPECT_TRUE(holds_all(mask, parts)) << i;
    for (const Rect& part : parts) EXPECT_TRUE(mask.all().contains(part)) << i;
    EXPECT_LE(area_of(parts), mask.all().area()) << i;
  }
}

}  // namespace
}  // namespace grainless
