// SPDX-License-Identifier: MIT
#include "engine/backends/tile_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace grainless {
namespace {

constexpr uint64_t kPixelBytes = 136;  // BM3D high, colour, two levels
constexpr uint64_t kMebibyte = 1 << 20;

GridRequest request(int32_t width, int32_t height, int32_t halo, uint64_t budget) {
  return {.area = {0, 0, width, height},
          .image = {0, 0, width, height},
          .halo = halo,
          .least_count = 1,
          .shortest = 64,
          .longest = 1 << 16,
          .budget = budget,
          .bytes = [](int32_t w, int32_t h) { return kPixelBytes * w * h; }};
}

int64_t tiles(const Rect& area, TileSize tile) {
  return int64_t{(area.width - 1) / tile.width + 1} * ((area.height - 1) / tile.height + 1);
}

TEST(TileGrid, OneTileWhereMemoryHasRoom) {
  const Grid grid = choose_grid(request(6000, 4000, 445, 4096 * kMebibyte));
  EXPECT_EQ(grid.tile.width, 6000);
  EXPECT_EQ(grid.tile.height, 4000);
  EXPECT_EQ(grid.work, 1);
  EXPECT_TRUE(grid.fits);
}

// What lies beyond the picture takes no memory: 6890 x 4890 pixels would need 4370 MiB.
TEST(TileGrid, HalosEndWithThePicture) {
  EXPECT_EQ(choose_grid(request(6000, 4000, 445, 3113 * kMebibyte)).work, 1);
  EXPECT_GT(choose_grid(request(6000, 4000, 445, 3112 * kMebibyte)).work, 1);
  GridRequest selection = request(6000, 4000, 445, 3113 * kMebibyte);
  selection.area = {1000, 1000, 3000, 2000};
  EXPECT_EQ(choose_grid(selection).work, 1);
  selection.budget = 1400 * kMebibyte;  // of 1458 for 3890 x 2890
  EXPECT_GT(choose_grid(selection).work, 1);
}

// By halves the sides were 500 x 334 and the work 3.6 times the picture's, with two tiles at once.
TEST(TileGrid, WideHalosInLittleMemory) {
  const Grid all = choose_grid(request(6000, 4000, 445, 512 * kMebibyte));
  EXPECT_TRUE(all.fits);
  EXPECT_LT(all.work, 1.8);
  EXPECT_GT(choose_grid(request(6000, 4000, 445, 256 * kMebibyte)).work, 2.3);
}

TEST(TileGrid, DevicesGetATileEach) {
  for (const int32_t devices : {2, 3, 4, 7, 8}) {
    GridRequest shared = request(6000, 4000, 100, 4096 * kMebibyte);
    shared.least_count = devices;
    const int64_t count = tiles(shared.area, choose_grid(shared).tile);
    EXPECT_GE(count, devices);
    EXPECT_LE(count, devices + 1);
  }
}

TEST(TileGrid, SidesKeepToTheirBounds) {
  GridRequest bounded = request(6000, 4000, 30, 4096 * kMebibyte);
  bounded.longest = 1024;
  const Grid grid = choose_grid(bounded);
  EXPECT_LE(std::max(grid.tile.width, grid.tile.height), 1024);
  EXPECT_EQ(tiles(bounded.area, grid.tile), 24);
  const Grid none = choose_grid(request(6000, 4000, 30, 1000));
  EXPECT_FALSE(none.fits);
  EXPECT_GE(std::min(none.tile.width, none.tile.height), 64);
  EXPECT_LT(std::max(none.tile.width, none.tile.height), 128);
  for (const int32_t side : {1, 63, 64, 127, 128}) {
    const Grid small = choose_grid(request(side, 1, 30, kMebibyte));
    EXPECT_EQ(small.tile.width, side);
    EXPECT_TRUE(small.fits);
  }
}

// Whatever is asked for: the tile fits if any does, and no other that fits, of all there are, is
// less work.
TEST(TileGrid, NoneIsLessWork) {
  std::mt19937 random(5);
  const auto draw = [&](int32_t least, int32_t most) {
    return least + static_cast<int32_t>(random() % (most - least + 1));
  };
  int fitted = 0;
  for (int round = 0; round < 400; ++round) {
    // One after the other: compilers evaluate arguments in different orders.
    const int32_t width = draw(1, 5000), height = draw(1, 5000), halo = draw(0, 500);
    GridRequest drawn = request(width, height, halo, kMebibyte * draw(1, 1500));
    drawn.longest = draw(0, 1) == 0 ? 1 << 16 : draw(1024, 3000);
    int calls = 0;
    // Rows of memory are of 32 pixels, and there is something for each tile.
    const auto bytes = [](int32_t w, int32_t h) {
      return uint64_t{300000} + kPixelBytes * ((w + 31) / 32 * 32) * h;
    };
    drawn.bytes = [&](int32_t w, int32_t h) {
      ++calls;
      return bytes(w, h);
    };
    const Grid grid = choose_grid(drawn);
    const Rect& area = drawn.area;
    EXPECT_LE(calls, 1 + 8 * std::max(1, area.width / 64));
    const auto seen = [&](int32_t tile, int32_t length) {
      return std::min(tile + 2 * drawn.halo, length);
    };
    if (grid.fits) {
      ++fitted;
      EXPECT_LE(bytes(seen(grid.tile.width, area.width), seen(grid.tile.height, area.height)),
                drawn.budget);
    }
    for (int32_t columns = 1; columns <= std::max(1, area.width / 64); ++columns) {
      for (int32_t rows = 1; rows <= std::max(1, area.height / 64); ++rows) {
        const TileSize tile{(area.width - 1) / columns + 1, (area.height - 1) / rows + 1};
        if (std::max(tile.width, tile.height) > drawn.longest) continue;
        const uint64_t needed = bytes(seen(tile.width, area.width), seen(tile.height, area.height));
        if (needed > drawn.budget) continue;
        ASSERT_TRUE(grid.fits) << round;
        const double work = (area.width + (columns - 1.0) * drawn.halo) *
                            (area.height + (rows - 1.0) * drawn.halo) /
                            static_cast<double>(area.area());
        ASSERT_LE(grid.work, work * (1 + 1e-9)) << round;
      }
    }
  }
  EXPECT_GT(fitted, 200);
}

}  // namespace
}  // namespace grainless
