// SPDX-License-Identifier: MIT
#include "engine/registration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

constexpr PixelFormat kFormat{Component::kFloat, 1};
constexpr int32_t kWidth = 900, kHeight = 640;

// Waves of any length; places are from the picture's middle.
double scene(PicturePoint at) {
  return 120 + test::waves(at.real(), at.imag()) +
         3 * test::waves(at.real() / 9 + 40, at.imag() / 9 - 70);
}

// What the first layer shows at a place is displaced so in this one.
TestImage layer(const Similarity& by, float sigma, uint32_t seed, double contrast = 1) {
  TestImage image(kFormat, kWidth, kHeight);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const Similarity back = inverse(by);
  for (int32_t y = 0; y < kHeight; ++y) {
    for (int32_t x = 0; x < kWidth; ++x) {
      const PicturePoint at = point_of(x, y, kWidth, kHeight);
      const double value = 120 + contrast * (scene(at + back.at(at)) - 120);
      image.set(x, y, 0, static_cast<float>(value) + sigma * normal(random));
    }
  }
  return image;
}

NoiseModel registered(const std::vector<TestImage>& images, int32_t threads = 2) {
  std::vector<ConstImage> layers;
  for (const TestImage& image : images) layers.push_back(image.view());
  ThreadPool pool(threads);
  NoiseModel noise = white_noise(1, 12);
  register_layers(layers, pool, {}, noise);
  return noise;
}

double farthest_apart(const Similarity& a, const Similarity& b) {
  double most = 0;
  for (const double x : {-0.5, 0.5}) {
    for (const double y : {-0.5, 0.5}) {
      const PicturePoint corner{x * kWidth, y * kHeight};
      most = std::max(most, std::abs(a.at(corner) - b.at(corner)));
    }
  }
  return most;
}

TEST(Registration, WhatLiesFarAwayAndTurnedIsFound) {
  const Similarity by[] = {{}, {{37, -22}, {0, 0.012}}, {{81, 14}, {0.01, -0.01}}};
  const std::vector<TestImage> images{layer(by[0], 20, 1), layer(by[1], 20, 2),
                                      layer(by[2], 20, 3)};
  const NoiseModel noise = registered(images);
  ASSERT_EQ(noise.stack.places.count, 3);
  EXPECT_TRUE(noise.stack.places.of[0].is_none());
  EXPECT_LT(farthest_apart(noise.stack.places.of[1], by[1]), 2);
  EXPECT_LT(farthest_apart(noise.stack.places.of[2], by[2]), 3);
  const NoiseModel again = registered(images, 1);
  EXPECT_EQ(noise.stack.places.of[2].by, again.stack.places.of[2].by);
  EXPECT_EQ(noise.stack.places.of[2].more, again.stack.places.of[2].more);
}

TEST(Registration, WhatGoesByDoesNotLeadAstray) {
  const Similarity by{{-44, 31}, {}};
  TestImage first = layer({}, 12, 1), second = layer(by, 12, 2);
  for (int32_t y = 200; y < 420; ++y) {
    for (int32_t x = 100; x < 300; ++x) {
      first.set(x, y, 0, (x / 20 + y / 20) % 2 == 0 ? 20.0f : 230.0f);
      second.set(x + 400, y, 0, (x / 20 + y / 20) % 2 == 0 ? 20.0f : 230.0f);
    }
  }
  const NoiseModel noise = registered({first, second});
  ASSERT_EQ(noise.stack.places.count, 2);
  EXPECT_LT(farthest_apart(noise.stack.places.of[1], by), 3);
}

TEST(Registration, WhatIsNearOrShowsNothingStaysWhereItIs) {
  EXPECT_EQ(registered({layer({}, 12, 1), layer({{5, -4}, {}}, 12, 2)}).stack.places.count, 0);
  EXPECT_EQ(registered({layer({}, 12, 1, 0), layer({}, 12, 2, 0)}).stack.places.count, 0);
  EXPECT_EQ(registered({layer({}, 0, 1, 0), layer({}, 0, 2, 0)}).stack.places.count, 0);
}

TEST(Registration, AFrameThatDoesNotFitTakesNothingFromTheOthers) {
  const Similarity by{{60, 10}, {}};
  const NoiseModel noise =
      registered({layer({}, 12, 1), layer(by, 12, 2), layer(by, 12, 3, 0), layer(by, 12, 4)});
  ASSERT_EQ(noise.stack.places.count, 4);
  for (int32_t i = 1; i < 4; ++i) EXPECT_LT(farthest_apart(noise.stack.places.of[i], by), 3) << i;
}

// A title, or another picture, between frames.
TEST(Registration, WhatShowsSomethingElseDoesNotCutTheChain) {
  const Similarity by[] = {{}, {{40, 12}, {}}, {{85, -20}, {}}};
  TestImage other = layer({}, 12, 7, 0);
  for (int32_t y = 40; y < kHeight; y += 60) {
    for (int32_t x = 50 + y % 170; x < kWidth - 60; ++x) {
      for (int32_t row = 0; row < 30; ++row) other.set(x, y + row, 0, x / 11 % 3 == 0 ? 30 : 240);
    }
  }
  const NoiseModel noise = registered(
      {other, layer(by[0], 12, 1), layer(by[1], 12, 2), other, other, layer(by[2], 12, 3)});
  ASSERT_EQ(noise.stack.places.count, 6);
  const LayerPlaces& places = noise.stack.places;
  const auto between = [&](int32_t z) { return places.between(1, z, 6, kWidth, kHeight); };
  EXPECT_LT(farthest_apart(between(2), by[1]), 3);
  EXPECT_LT(farthest_apart(between(5), by[2]), 4);
}

TEST(Registration, PlacesGoBackAndOn) {
  const Similarity a{{12, -7}, {0.02, 0.1}}, b{{-3, 40}, {-0.05, 0.03}};
  const PicturePoint at{250, -130};
  const PicturePoint there = at + a.at(at);
  EXPECT_LT(std::abs(there + inverse(a).at(there) - at), 1e-9);
  EXPECT_LT(std::abs(at + then(a, b).at(at) - (there + b.at(there))), 1e-9);
  const Rect rect{100, 50, 200, 300}, moved = moved_about(a, rect, kWidth, kHeight);
  for (const int32_t y : {rect.y, rect.bottom() - 1}) {
    for (const int32_t x : {rect.x, rect.right() - 1}) {
      const PicturePoint by = a.at(point_of(x, y, kWidth, kHeight));
      EXPECT_TRUE(moved.contains(static_cast<int32_t>(std::lround(x + by.real())),
                                 static_cast<int32_t>(std::lround(y + by.imag()))));
    }
  }
}

}  // namespace
}  // namespace grainless
