// SPDX-License-Identifier: MIT
#include "engine/noise/motion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

constexpr int32_t kSide = 128;
constexpr PixelFormat kFormat{Component::kFloat, 1};

struct Layer {
  double right = 0, down = 0;  // displacement, pixels
  double brighter = 0;
  float sigma = 0;
  bool in_texture = false;  // noise of five times that where the scene is bright
  uint32_t seed = 1;
};

TestImage picture(const Layer& layer, int32_t width = kSide) {
  TestImage image(kFormat, width, kSide);
  std::mt19937 random(layer.seed);
  std::normal_distribution<float> normal;
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const double value = test::waves(x - layer.right, y - layer.down);
      const float more = layer.in_texture && value > 0 ? 5.0f : 1.0f;
      const auto clean = static_cast<float>(120 + value + layer.brighter);
      image.set(x, y, 0, clean + more * layer.sigma * normal(random));
    }
  }
  return image;
}

Sample sample_of(const TestImage& image) {
  ThreadPool pool(1);
  return take_sample(image.view(), pool, {});
}

// How many of the four squares are in that state.
int count_squares(const TestImage& a, const TestImage& b, SquareState state) {
  const Sample one = sample_of(a), other = sample_of(b);
  EXPECT_EQ(one.tiles.size(), 1u);
  int count = 0;
  for (const int32_t y : {0, kMotionSide}) {
    for (const int32_t x : {0, kMotionSide}) {
      count += compare_square(one.tiles[0], other.tiles[0], x, y).state == state ? 1 : 0;
    }
  }
  return count;
}

TEST(Motion, NoiseIsNone) {
  for (const float sigma : {0.3f, 3.0f, 30.0f}) {
    const Layer one{.sigma = sigma, .seed = 2}, other{.sigma = sigma, .seed = 3};
    EXPECT_EQ(count_squares(picture(one), picture(other), SquareState::kStill), 4) << sigma;
  }
}

// As cameras leave it that remove noise themselves.
TEST(Motion, UnevenNoiseIsNone) {
  const Layer one{.sigma = 2, .in_texture = true, .seed = 4};
  const Layer other{.sigma = 2, .in_texture = true, .seed = 5};
  EXPECT_EQ(count_squares(picture(one), picture(other), SquareState::kStill), 4);
}

TEST(Motion, IsFoundBesideNoise) {
  for (const double by : {0.25, 0.5, 1.0, 2.0, 5.0, 17.0}) {
    const Layer one{.sigma = 3, .seed = 6};
    const Layer across{.right = by, .sigma = 3, .seed = 7};
    const Layer slanting{.right = -0.7 * by, .down = 0.7 * by, .sigma = 3, .seed = 8};
    EXPECT_EQ(count_squares(picture(one), picture(across), SquareState::kChanged), 4) << by;
    EXPECT_EQ(count_squares(picture(one), picture(slanting), SquareState::kChanged), 4) << by;
  }
}

TEST(Motion, IsFoundInANarrowPicture) {
  constexpr int32_t kNarrow = 37;
  const Sample one = sample_of(picture({.sigma = 1, .seed = 6}, kNarrow));
  const Sample other = sample_of(picture({.sigma = 1, .seed = 7}, kNarrow));
  const Sample moved = sample_of(picture({.right = 0.5, .sigma = 1, .seed = 8}, kNarrow));
  for (const int32_t y : {0, kMotionSide}) {
    EXPECT_EQ(compare_square(one.tiles[0], other.tiles[0], 0, y).state, SquareState::kStill);
    EXPECT_EQ(compare_square(one.tiles[0], moved.tiles[0], 0, y).state, SquareState::kChanged);
  }
}

// Squares that differ by noise of variance 4 and by displacements that stray from (x, 0).
std::vector<SquareMotion> shaken_squares(double x, double stray, double share) {
  std::vector<SquareMotion> squares;
  for (int32_t i = 0; i < 12; ++i) {
    const double by = i % 2 == 0 ? stray : -stray;
    squares.push_back({SquareState::kChanged, share, x + by, by, 4.0});
    squares.back().moved = true;
  }
  return squares;
}

int64_t shaken_of(double known, std::vector<SquareMotion> squares, Apart apart = Apart::kNext) {
  forgive_shake(known, apart, squares);
  return std::count_if(squares.begin(), squares.end(), [](const SquareMotion& square) {
    return square.state == SquareState::kShaken;
  });
}

TEST(Motion, OfACameraHeldByHandIsForgiven) {
  constexpr double kKnown = 4, kHidden = 0.1, kMistaken = 40;
  EXPECT_EQ(shaken_of(kKnown, shaken_squares(0.3, 0.03, 0.1)), 12);
  EXPECT_EQ(shaken_of(kHidden, shaken_squares(0.3, 0.03, 0.3)), 12);
  EXPECT_EQ(shaken_of(kMistaken, shaken_squares(0.3, 0.03, 0.3)), 12);
  EXPECT_EQ(shaken_of(kHidden, shaken_squares(0.8, 0.03, 0.45), Apart::kFurther), 12)
      << "a slow drift";
  EXPECT_EQ(shaken_of(kHidden, shaken_squares(0.8, 0.03, 0.45)), 0) << "a fast one";
  EXPECT_EQ(shaken_of(kKnown, shaken_squares(0.8, 0.03, 0.1), Apart::kFurther), 0);
  EXPECT_EQ(shaken_of(kKnown, shaken_squares(0.3, 0.03, 0.3)), 0) << "one frame is better";
  EXPECT_EQ(shaken_of(kHidden, shaken_squares(0.3, 0.03, 0.5)), 0) << "little but motion";
  EXPECT_EQ(shaken_of(kHidden, shaken_squares(0.3, 0.2, 0.1)), 0) << "leaves";
  EXPECT_EQ(shaken_of(kHidden, shaken_squares(2.0, 0.03, 0.3)), 0) << "further";
}

TEST(Motion, OfACameraIsForgivenFurtherWhereLayersDifferLittleOnAverage) {
  const auto shaken = [](const std::vector<SquareMotion>& squares) {
    return shaken_of(4, squares, Apart::kOnAverage);
  };
  EXPECT_EQ(shaken(shaken_squares(0.8, 0.03, 0.3)), 12);
  EXPECT_EQ(shaken_of(4, shaken_squares(0.8, 0.03, 0.3), Apart::kFurther), 0);
  EXPECT_EQ(shaken(shaken_squares(0.8, 0.03, 0.4)), 0) << "little but motion";
  EXPECT_EQ(shaken(shaken_squares(1.2, 0.03, 0.3)), 0) << "further";
  EXPECT_EQ(shaken(shaken_squares(0.3, 0.2, 0.1)), 0) << "leaves";
  // What goes by before a background that stands still.
  std::vector<SquareMotion> squares = shaken_squares(0.8, 0.03, 0.3);
  for (size_t i = 0; i < 14; ++i) {
    squares.push_back({.state = SquareState::kStill, .share = 0.005, .noise = 4});
  }
  EXPECT_EQ(shaken(squares), 0);
}

// As noise reduction leaves it where a picture is flat: coarse, and less than elsewhere.
TEST(Motion, CoarseNoiseIsNoneBesideFineNoise) {
  const SquareMotion fine{.state = SquareState::kStill, .noise = 20, .quarter = 3};
  const SquareMotion coarse{
      .state = SquareState::kChanged, .noise = 2, .quarter = 1, .coarse = true};
  std::vector<SquareMotion> squares = {fine, fine, coarse, coarse, coarse, coarse, coarse};
  squares[3].moved = true;
  squares[4].quarter = 10;
  squares[5].unlike_noise = true;
  forgive_coarseness(squares);
  EXPECT_EQ(squares[2].state, SquareState::kStill);
  for (const size_t i : {3, 4, 5}) EXPECT_EQ(squares[i].state, SquareState::kChanged) << i;
  squares.assign(4, coarse);
  forgive_coarseness(squares);
  EXPECT_EQ(squares[0].state, SquareState::kChanged) << "a change of light";
}

// Strong noise blurs what each square shows of one displacement.
TEST(Motion, OfACameraHeldByHandIsForgivenThroughNoise) {
  std::vector<SquareMotion> squares = shaken_squares(0.3, 0.1, 0.1);
  EXPECT_EQ(shaken_of(0.1, squares), 0);
  for (SquareMotion& square : squares) square.blur = 0.1;
  EXPECT_EQ(shaken_of(0.1, squares), 12);
}

// Flat ones don't show by what they moved.
TEST(Motion, OfACameraShowsInItsTextureAlone) {
  std::vector<SquareMotion> squares = shaken_squares(0.3, 0.03, 0.1);
  for (size_t i = 0; i < 14; ++i) {
    const double right = i % 2 == 0 ? -2 : 2;
    squares.push_back({.state = SquareState::kStill, .right = right, .noise = 4});
  }
  EXPECT_EQ(shaken_of(4, squares), 12);
}

TEST(Motion, OfItsOwnIsNotForgivenBesideAShake) {
  std::vector<SquareMotion> squares = shaken_squares(0.3, 0.03, 0.1);
  squares[3].right = -0.8;
  squares[5].share = 0.9;
  squares[7].state = SquareState::kUnknown;
  forgive_shake(0.1, Apart::kNext, squares);
  for (size_t i = 0; i < squares.size(); ++i) {
    const bool other = i == 3 || i == 5;
    const SquareState wanted = i == 7  ? SquareState::kUnknown
                               : other ? SquareState::kChanged
                                       : SquareState::kShaken;
    EXPECT_EQ(squares[i].state, wanted) << i;
  }
}

// Stars, rain: at other places in each layer.
TEST(Motion, ScatteredDotsHaveChanged) {
  TestImage one = picture({.sigma = 0.3f, .seed = 12}),
            other = picture({.sigma = 0.3f, .seed = 13});
  for (int32_t y = 0; y < kSide; y += 10) {
    for (int32_t x = y % 7; x < kSide; x += 10) {
      one.set(x, y, 0, 255);
      other.set((x * 3 + y) % kSide, y, 0, 255);
    }
  }
  EXPECT_EQ(count_squares(one, other, SquareState::kChanged), 4);
}

TEST(Motion, ABrighterSceneHasChanged) {
  const Layer one{.sigma = 3, .seed = 9}, other{.brighter = 4, .sigma = 3, .seed = 10};
  EXPECT_EQ(count_squares(picture(one), picture(other), SquareState::kChanged), 4);
}

TEST(Motion, SaysNothingOfEqualOrInvalidSquares) {
  const TestImage one = picture({.sigma = 3});
  EXPECT_EQ(count_squares(one, one, SquareState::kUnknown), 4);
  TestImage other = picture({.sigma = 3, .seed = 11});
  other.set(5, 70, 0, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(count_squares(one, other, SquareState::kUnknown), 1);
  EXPECT_EQ(count_squares(one, other, SquareState::kStill), 3);
}

}  // namespace
}  // namespace grainless
