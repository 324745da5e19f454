// SPDX-License-Identifier: MIT
#include "ui/picture.h"

#include <gtest/gtest.h>

namespace grainless::ui {
namespace {

constexpr Rect kImage{0, 0, 300, 200};

// Opaque pixels that tell where they are, and which result they are of.
uint32_t pixel(int32_t x, int32_t y, uint32_t number) {
  return 0xff000000u | number << 16 | (static_cast<uint32_t>(x * 7 + y * 13) & 255) << 8 |
         (static_cast<uint32_t>(x ^ y) & 255);
}

Bitmap bitmap_of(const Rect& rect, uint32_t number) {
  Bitmap bitmap(rect);
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    for (int32_t x = rect.x; x < rect.right(); ++x) *bitmap.at(x, y) = pixel(x, y, number);
  }
  return bitmap;
}

Bitmap flat(const Rect& rect, uint32_t colour) {
  Bitmap bitmap(rect);
  std::fill(bitmap.pixels.begin(), bitmap.pixels.end(), colour);
  return bitmap;
}

Piece coarse_piece(const Rect& rect, uint64_t settings, uint32_t colour) {
  Piece piece;
  piece.settings = settings;
  piece.coarse_rect = rect;
  piece.coarse = flat(rect, colour);
  return piece;
}

TEST(Levels, AMeanOfFourRoundsUp) {
  Bitmap fine({0, 0, 2, 2}), coarse({0, 0, 1, 1});
  fine.pixels = {0xff000010u, 0xff000011u, 0xff000010u, 0xfd000011u};
  halve(fine, coarse.rect, coarse);
  EXPECT_EQ(coarse.pixels[0], 0xff000011u);
}

TEST(Levels, OddSidesKeepTheirLastPixels) {
  const Bitmap fine = flat({0, 0, 5, 3}, 0xff405060u);
  Bitmap coarse(at_level(fine.rect, 1));
  halve(fine, coarse.rect, coarse);
  EXPECT_EQ(coarse.rect, (Rect{0, 0, 3, 2}));
  for (const uint32_t value : coarse.pixels) EXPECT_EQ(value, 0xff405060u);
}

TEST(Levels, EnlargingKeepsWhatIsFlatAndGoesEvenlyBetween) {
  const Bitmap grey = flat({2, 3, 4, 5}, 0x80808080u);
  for (const uint32_t value : enlarge(grey, 3, 0, {16, 24, 32, 40}).pixels) {
    EXPECT_EQ(value, 0x80808080u);
  }
  Bitmap two({0, 0, 2, 1});
  two.pixels = {0xff000000u, 0xff000080u};
  const Bitmap four = enlarge(two, 1, 0, {0, 0, 4, 1});
  EXPECT_EQ(four.pixels,
            (std::vector<uint32_t>{0xff000000u, 0xff000020u, 0xff000060u, 0xff000080u}));
}

TEST(Picture, ExactCellsComeBackBitForBit) {
  Picture picture;
  picture.add(cut(bitmap_of(kImage, 1), 1, 0));
  Bitmap target({37, 11, 200, 150});
  picture.paint(0, target);
  EXPECT_EQ(target.pixels, bitmap_of(target.rect, 1).pixels);
  EXPECT_TRUE(picture.missing(cells_of(kImage), 1, 0).empty());
  EXPECT_EQ(picture.missing(cells_of(kImage), 2, 0), cells_of(kImage));
}

TEST(Picture, LevelsDontDependOnTheCells) {
  Picture picture;
  picture.add(cut(bitmap_of(kImage, 1), 1, 0));
  Bitmap level = bitmap_of(kImage, 1);
  for (int32_t i = 1; i < kLevels; ++i) {
    Bitmap next(at_level(kImage, i)), shown(at_level(kImage, i));
    halve(level, next.rect, next);
    level = std::move(next);
    picture.paint(i, shown);
    EXPECT_EQ(shown.pixels, level.pixels) << i;
  }
}

TEST(Picture, PartsAddUp) {
  Picture picture;
  picture.add(cut(bitmap_of({0, 0, 128, 128}, 1), 1, 0));
  EXPECT_EQ(picture.missing(cells_of(kImage), 1, 0), (Rect{0, 0, 3, 2}));
  picture.add(cut(bitmap_of({0, 128, 300, 72}, 1), 1, 0));
  EXPECT_EQ(picture.missing(cells_of(kImage), 1, 0), (Rect{1, 0, 2, 1}));
  picture.add(cut(bitmap_of({128, 0, 172, 128}, 1), 1, 0));
  Bitmap all(kImage);
  picture.paint(0, all);
  EXPECT_EQ(all.pixels, bitmap_of(kImage, 1).pixels);
}

TEST(Picture, NoTwoSettingsSideBySide) {
  Picture picture;
  picture.add(cut(bitmap_of(kImage, 1), 1, 0));
  picture.add(cut(bitmap_of({0, 0, 128, 128}, 2), 2, 0));
  Bitmap target = flat(kImage, 7);
  picture.paint(0, target);
  EXPECT_EQ(*target.at(127, 127), pixel(127, 127, 2));
  EXPECT_EQ(*target.at(128, 127), 7u);
  picture.add(cut(bitmap_of(kImage, 1), 1, 0));  // late
  picture.paint(0, target);
  EXPECT_EQ(*target.at(128, 127), 7u);
}

TEST(Picture, ExactPixelsLieOverCoarseOnes) {
  Picture picture;
  picture.add(coarse_piece({50, 50, 200, 100}, 1, 5));
  EXPECT_TRUE(picture.has_coarse({60, 60, 100, 80}, 1));
  EXPECT_FALSE(picture.has_coarse({40, 60, 100, 80}, 1));
  EXPECT_FALSE(picture.has_coarse({60, 60, 100, 80}, 2));
  picture.add(cut(bitmap_of({128, 0, 128, 128}, 1), 1, 0));
  Bitmap target = flat(kImage, 7);
  picture.paint(0, target);
  EXPECT_EQ(*target.at(49, 60), 7u);
  EXPECT_EQ(*target.at(50, 60), 5u);
  EXPECT_EQ(*target.at(128, 60), pixel(128, 60, 1));
}

TEST(Picture, CoarserCellsAreMissingAtAFinerLevel) {
  Picture picture;
  picture.add(cut(bitmap_of(kImage, 1), 1, 2));
  EXPECT_TRUE(picture.missing(cells_of(kImage), 1, 2).empty());
  EXPECT_TRUE(picture.missing(cells_of(kImage), 1, 3).empty());
  EXPECT_EQ(picture.missing(cells_of(kImage), 1, 1), cells_of(kImage));
}

TEST(Picture, TrimForgetsWhatIsFarAway) {
  Picture picture;
  picture.add(cut(bitmap_of(kImage, 1), 1, 0));
  picture.trim({0, 0, 10, 10});
  EXPECT_EQ(picture.size(), 1u);
  EXPECT_TRUE(picture.has({0, 0}, 1, 0));
}

// A change that the coarser level knows, done to the finer one, keeps the finer one's edges.
TEST(Picture, ChangesOfACoarserLevelKeepTheFinerOnesEdges) {
  Bitmap fine({0, 0, 16, 16}), coarse({0, 0, 4, 4}), result({0, 0, 4, 4});
  for (int32_t y = 0; y < 16; ++y) {
    for (int32_t x = 0; x < 16; ++x) *fine.at(x, y) = x % 2 == 0 ? 0xff202020u : 0xff606060u;
  }
  std::fill(coarse.pixels.begin(), coarse.pixels.end(), 0xff404040u);
  std::fill(result.pixels.begin(), result.pixels.end(), 0xff504838u);
  const Bitmap applied = apply_at(fine, coarse, result, 3, 1, {2, 3, 6, 5});
  EXPECT_EQ(applied.rect, (Rect{2, 3, 6, 5}));
  EXPECT_EQ(*applied.at(2, 3), 0xff302818u);
  EXPECT_EQ(*applied.at(3, 7), 0xff706858u);
  std::fill(result.pixels.begin(), result.pixels.end(), 0xffffffffu);
  EXPECT_EQ(*apply_at(fine, coarse, result, 3, 1, fine.rect).at(3, 3), 0xffffffffu);
}

}  // namespace
}  // namespace grainless::ui
