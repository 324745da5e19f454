// SPDX-License-Identifier: MIT
#include "engine/noise/displacement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/noise/layer_pair.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

constexpr int32_t kSide = 128;
constexpr PixelFormat kFormat{Component::kFloat, 1};

SampleTile picture(double right, double down, float sigma, uint32_t seed, bool flat = false) {
  TestImage image(kFormat, kSide, kSide);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      const double value = 120 + (flat ? 0 : test::waves(x - right, y - down));
      image.set(x, y, 0, static_cast<float>(value) + sigma * normal(random));
    }
  }
  ThreadPool pool(1);
  return take_sample(image.view(), pool, {}).tiles.front();
}

// Mean over the square at (64, 0).
double variance_left(const SampleTile& a, const SampleTile& b, const Displacement& by,
                     int32_t level) {
  double sum = 0;
  int32_t count = 0;
  for (int32_t y = 0; y < kMotionSide; y += kLeftSide) {
    for (int32_t x = kMotionSide; x < kSide; x += kLeftSide) {
      Left left{};
      if (!left_of_block(a, b, by, 1, x, y, left)) continue;
      sum += left.variance[level][0];
      ++count;
    }
  }
  EXPECT_GT(count, 0);
  return sum / count;
}

TEST(Displacement, IsFoundAndUndone) {
  constexpr float kSigma = 3;
  const SampleTile one = picture(0, 0, kSigma, 1);
  for (const double right : {0.0, 0.3, 1.5, -4.2, 17.0}) {
    const double down = 0.5 - 0.7 * right;
    const SampleTile other = picture(right, down, kSigma, 2);
    const Displacement by = find_displacement(one, other, kMotionSide, 0);
    ASSERT_TRUE(by.known);
    EXPECT_TRUE(by.sure);
    EXPECT_NEAR(by.right + by.more_right, right, 0.15);
    EXPECT_NEAR(by.down + by.more_down, down, 0.15);
    // The noise, and little else.
    EXPECT_NEAR(variance_left(one, other, by, 0), kSigma * kSigma, 1.5) << right;
    EXPECT_NEAR(variance_left(one, other, by, 1), kSigma * kSigma / 4, 0.7) << right;
  }
}

// Stripes of single pixels and weaker grain, which the first columns hold more of; moved by whole
// pixels and mixed from three in a row by `blur`.
Sample striped(int32_t right, int32_t down, float blur = 0, int32_t columns = 0) {
  constexpr int32_t kWide = 2 * kSide;
  static const std::vector<float> values = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 20);
    std::vector<float> grains(size_t{kWide} * kWide);
    for (float& value : grains) value = normal(random);
    return grains;
  }();
  const auto at = [&](int32_t x, int32_t y) {
    const auto of = [&](int32_t i, int32_t j) {
      return values[static_cast<size_t>(j) * kWide + i];
    };
    return of(x, 0) + (x - 40 < columns ? 1.0f : 0.16f) * of(x / 2, y / 2 + 1);
  };
  TestImage image(kFormat, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      const int32_t i = x - right + 40, j = y - down + 40;
      const float mixed = (1 - 2 * blur) * at(i, j) + blur * (at(i - 1, j) + at(i + 1, j));
      image.set(x, y, 0, 120 + mixed);
    }
  }
  ThreadPool pool(1);
  return take_sample(image.view(), pool, {});
}

SampleTile grain(int32_t right, int32_t down, float blur = 0) {
  return striped(right, down, blur).tiles.front();
}

// At lower resolutions half a pixel across hides what is better along.
TEST(Displacement, OfFineStripesIsTheWholePixels) {
  const SampleTile one = grain(0, 0);
  for (int32_t right = -1; right <= 1; ++right) {
    for (int32_t down = 0; down <= 3; ++down) {
      const SampleTile other = grain(right, down);
      const Displacement by = find_displacement(one, other, kMotionSide, 0);
      ASSERT_TRUE(by.known);
      EXPECT_EQ(by.right, right) << right << ' ' << down;
      EXPECT_EQ(by.down, down) << right << ' ' << down;
      EXPECT_LT(variance_left(one, other, by, 0), 0.1) << right << ' ' << down;
    }
  }
}

// As parts of a pixel blur, and a hand that shakes. The layers differ by a tenth of their variance.
TEST(Displacement, LeavesNoDifferenceOfSharpness) {
  const SampleTile one = grain(0, 0, 0.02f), other = grain(1, 0, 0.1f);
  const Displacement by = find_displacement(one, other, kMotionSide, 0);
  ASSERT_TRUE(by.known);
  EXPECT_EQ(by.right, 1);
  Displacement moved = by;
  moved.round = {};
  EXPECT_GT(variance_left(one, other, moved, 0), 5);
  EXPECT_LT(variance_left(one, other, by, 0), 0.5);
}

TEST(Displacement, IsThatOfOthersWhereItFitsBetter) {
  const SampleTile one = grain(0, 0), other = grain(3, 1);
  const Displacement right = find_displacement(one, other, kMotionSide, 0);
  ASSERT_EQ(right.right, 3);
  Displacement wrong = right;
  wrong.right = 20;
  wrong.left = 500;
  EXPECT_EQ(displaced_like(right, one, other, kMotionSide, 0, wrong).right, 3);
  EXPECT_EQ(displaced_like(wrong, one, other, kMotionSide, 0, right).right, 3);
  EXPECT_FALSE(displaced_like(right, one, other, kMotionSide, 0, {}).known);
}

TEST(Displacement, IsFoundBySquaresThatShowItForThoseThatDoNot) {
  constexpr int32_t kColumns = 32, kDown = 2;
  const Sample one = striped(0, 0, 0, kColumns), other = striped(-3, kDown, 0, kColumns);
  const Displacement by = find_displacement(one.tiles[0], other.tiles[0], kMotionSide, 0);
  ASSERT_NE(by.down, kDown) << "by itself";
  const LayerPair pair = compare_layers(one, other, 0, Apart::kNext);
  int32_t traced = 0;
  for (const PairBlock& block : pair.blocks) {
    if (!block.traced) continue;
    ++traced;
    EXPECT_LT(block.left.variance[0][0], 0.1);
  }
  EXPECT_GT(traced, 40);
}

TEST(Displacement, IsNotSureWithoutTexture) {
  const SampleTile one = picture(0, 0, 5, 3, true), other = picture(0, 0, 5, 4, true);
  const Displacement by = find_displacement(one, other, kMotionSide, 0);
  EXPECT_TRUE(by.known);
  EXPECT_FALSE(by.sure);
  EXPECT_NEAR(variance_left(one, other, by, 0), 25, 3);
}

TEST(Displacement, IsUnknownWherePixelsAreInvalid) {
  SampleTile one = picture(0, 0, 3, 5), other = picture(0, 0, 3, 6);
  other.state[static_cast<size_t>(20) * kSide + 80] = kInvalid;
  EXPECT_FALSE(find_displacement(one, other, kMotionSide, 0).known);
  EXPECT_TRUE(find_displacement(one, other, 0, kMotionSide).known);
}

TEST(Displacement, LeavesScatteredDots) {
  SampleTile one = picture(0, 0, 1, 7), other = picture(0, 0, 1, 8);
  const Displacement by = find_displacement(one, other, 0, 0);
  Left left{};
  ASSERT_TRUE(left_of_block(one, other, by, 1, 16, 16, left));
  EXPECT_LT(left.kurtosis, 5);
  one.plane[0][0][static_cast<size_t>(20) * kSide + 20] = 255;
  ASSERT_TRUE(left_of_block(one, other, by, 1, 16, 16, left));
  EXPECT_GT(left.kurtosis, 16);
}

}  // namespace
}  // namespace grainless
