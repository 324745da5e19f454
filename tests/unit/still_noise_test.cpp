// SPDX-License-Identifier: MIT
#include "engine/noise/still_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/noise/sample.h"
#include "engine/volume.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

constexpr int32_t kSide = 192;
constexpr PixelFormat kFormat{Component::kFloat, 3};

// Texture of many scales everywhere, which nothing tells from noise in one picture; or of one scale
// alone, whose displacements differ as noise does.
TestImage texture(int32_t left = 0, float brighter = 0, bool fine = false) {
  constexpr int32_t kWide = 4 * kSide;
  static const std::vector<float> grain = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(size_t{kWide} * kSide);
    for (float& value : values) value = normal(random);
    return values;
  }();
  TestImage image(kFormat, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      const auto at = [&](int32_t step) {
        return grain[static_cast<size_t>(y / step) * kWide + (x + left) / step];
      };
      const float coarse = fine ? 0 : 8 * at(2) + 12 * at(4);
      const float value = 128 + brighter + 6 * at(1) + coarse;
      for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, value);
    }
  }
  return image;
}

void add_noise(TestImage& image, float sigma, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, sigma);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, image.get(x, y, c) + normal(random));
    }
  }
}

NoiseModel measured(const std::vector<TestImage>& layers, NoiseModel noise) {
  ThreadPool pool(2);
  std::vector<Sample> samples;
  for (const TestImage& layer : layers) samples.push_back(take_sample(layer.view(), pool, {}));
  measure_layers(samples, noise);
  return noise;
}

NoiseModel still_noise_of(const std::vector<TestImage>& layers) {
  NoiseModel noise = white_noise(3, 2);
  noise.confidence = Confidence::kUnsure;
  return measured(layers, noise);
}

// Each layer differs everywhere, as evenly as noise does; it was moved by a pixel.
TEST(StillNoise, NotOfAPatternThatMovesByWholePixels) {
  std::vector<TestImage> layers(3, TestImage(kFormat, kSide, kSide));
  for (size_t z = 0; z < layers.size(); ++z) {
    for (int32_t y = 0; y < kSide; ++y) {
      for (int32_t x = 0; x < kSide; ++x) {
        const float value = (x + y + static_cast<int32_t>(z)) % 2 != 0 ? 160 : 90;
        for (int32_t c = 0; c < 3; ++c) layers[z].set(x, y, c, value);
      }
    }
  }
  const NoiseModel noise = still_noise_of(layers);
  EXPECT_FALSE(noise.still);
  EXPECT_FALSE(noise.between.known);
  EXPECT_LE(noise.sigma[0][0], 2);
}

// No square of it tells whether it has moved.
TEST(StillNoise, NotOfAPictureTooSmallToTell) {
  constexpr int32_t kWidth = 96, kHeight = 26;
  std::vector<TestImage> layers(4, TestImage(kFormat, kWidth, kHeight));
  for (size_t z = 0; z < layers.size(); ++z) {
    for (int32_t y = 0; y < kHeight; ++y) {
      for (int32_t x = 0; x < kWidth; ++x) {
        const bool dark = (x / 2 + y / 2 + static_cast<int32_t>(z)) % 2 != 0;
        for (int32_t c = 0; c < 3; ++c) layers[z].set(x, y, c, dark ? 90.0f : 170.0f);
      }
    }
  }
  const NoiseModel noise = still_noise_of(layers);
  EXPECT_FALSE(noise.still);
  EXPECT_LE(noise.sigma[0][0], 2);
}

TEST(StillNoise, IsWhatStillLayersDifferBy) {
  for (const size_t count : {2, 5}) {
    std::vector<TestImage> layers(count, texture());
    for (size_t z = 0; z < count; ++z) add_noise(layers[z], 10, static_cast<uint32_t>(z + 2));
    const NoiseModel noise = still_noise_of(layers);
    EXPECT_TRUE(noise.still);
    EXPECT_EQ(noise.confidence, Confidence::kMeasured);
    for (int32_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(noise.sigma[0][c], 10, 0.3);
      EXPECT_NEAR(noise.sigma[1][c], 5, 0.3);
      EXPECT_NEAR(noise.sigma[2][c], 2.5, 0.3);
    }
  }
}

// Each layer dares so little of colours' noise that layers would seem to differ.
TEST(StillNoise, OfColoursIsWhatStillLayersDifferByToo) {
  std::vector<TestImage> layers(4, texture());
  for (size_t z = 0; z < layers.size(); ++z) add_noise(layers[z], 4, static_cast<uint32_t>(z + 2));
  NoiseModel noise = white_noise(3, 1.4f);
  noise.sigma[0][0] = 3.9f;
  noise.strength[1] = noise.strength[2] = 2.9f;
  noise.confidence = Confidence::kUnsure;
  noise = measured(layers, noise);
  EXPECT_TRUE(noise.still);
  for (int32_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(noise.sigma[0][c], 4, 0.2);
    EXPECT_EQ(noise.strength[c], 1.0f);
  }
}

// Nothing of a white sky's noise is above white.
void add_sky(TestImage& image, float sigma, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, sigma);
  for (int32_t y = 0; y < kSide / 2; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, std::min(255.0f, 255 + normal(random)));
    }
  }
}

// The sky stands still, and shows half of the noise; the rest of the picture moves.
TEST(StillNoise, OfASkyTellsNothingOfOtherTones) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) {
    layers.push_back(texture(40 * z));
    add_noise(layers.back(), 5, static_cast<uint32_t>(z + 2));
    add_sky(layers.back(), 5, static_cast<uint32_t>(z + 12));
  }
  NoiseModel noise = white_noise(3, 5);
  noise.levels = 2;
  std::fill_n(noise.sigma[1], 3, 2.5f);
  noise = measured(layers, noise);
  EXPECT_EQ(noise.told_tones, 0);
  for (const float tone : noise.tones) EXPECT_EQ(tone, 1.0f);
}

// By a pixel, under noise so strong that the layers differ evenly all the same.
TEST(StillNoise, NotOfADriftUnderNoise) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 2; ++z) {
    layers.push_back(texture(z));
    add_noise(layers.back(), 14, static_cast<uint32_t>(z + 2));
  }
  EXPECT_FALSE(measured(layers, white_noise(3, 14)).still);
}

TEST(StillNoise, WhatMovesOrChangesIsNone) {
  std::vector<TestImage> moved, flicker, held(4, texture()), drifting;
  for (int32_t z = 0; z < 4; ++z) {
    moved.push_back(texture(3 * z));
    flicker.push_back(texture(0, 6.0f * static_cast<float>(z % 2)));
  }
  for (int32_t z = 0; z < 2; ++z) {
    drifting.push_back(texture(2 * z, 0, true));
    add_noise(drifting.back(), 0.5f, static_cast<uint32_t>(z + 2));
  }
  for (const auto* layers : {&moved, &flicker, &held, &drifting}) {
    const NoiseModel noise = still_noise_of(*layers);
    EXPECT_FALSE(noise.still);
    EXPECT_LE(noise.sigma[0][0], 2.0f);
  }
}

// A shaking or moving camera's, whose layers alone took texture for noise, or noise for texture.
TEST(StillNoise, IsWhatUndoneDisplacementsLeave) {
  constexpr float kSigma = 5;
  for (const int32_t by : {0, 1, 3}) {
    std::vector<TestImage> layers;
    for (int32_t z = 0; z < 4; ++z) {
      layers.push_back(texture(by * z));
      add_noise(layers.back(), kSigma, static_cast<uint32_t>(z + 2));
    }
    for (const bool sure : {true, false}) {
      NoiseModel noise = white_noise(3, sure ? 14.0f : 2.0f);
      noise.confidence = sure ? Confidence::kMeasured : Confidence::kUnsure;
      noise.strength[0] = 1.6f;
      noise = measured(layers, noise);
      EXPECT_NEAR(noise.sigma[0][0], kSigma, 0.7) << by << sure;
      EXPECT_EQ(noise.confidence, Confidence::kMeasured) << by << sure;
      EXPECT_EQ(noise.strength[0], 1.0f) << by << sure;
    }
  }
}

// What moves in many ways leaves more than noise; still no noise is stronger than that.
TEST(StillNoise, IsNoMoreThanWhatIsLeft) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) {
    layers.push_back(texture(z % 2 == 0 ? 0 : 2 * kSide));
    add_noise(layers.back(), 5, static_cast<uint32_t>(z + 2));
  }
  NoiseModel noise = white_noise(3, 2);
  noise.confidence = Confidence::kUnsure;
  EXPECT_EQ(measured(layers, noise).sigma[0][0], 2.0f);
}

// The noise of one layer, which moves with it, shows nowhere.
TEST(StillNoise, CopiesShowNone) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) layers.push_back(texture(4 * z));
  const NoiseModel noise = measured(layers, white_noise(3, 10));
  EXPECT_EQ(noise.sigma[0][0], 10.0f);
  EXPECT_EQ(noise.confidence, Confidence::kMeasured);
}

// A layer that took texture for noise doesn't speak for others.
TEST(StillNoise, LayersThatDisagreeCountAsTheLower) {
  const auto models = [](const std::vector<float>& sigmas) {
    std::vector<NoiseModel> found;
    for (const float sigma : sigmas) {
      found.push_back(white_noise(3, sigma));
      found.back().white[0] = sigma < 10;
      found.back().confidence = sigma < 10 ? Confidence::kUnsure : Confidence::kMeasured;
    }
    return mean_noise(found, most_agreed(found));
  };
  EXPECT_FLOAT_EQ(models({4, 26, 4, 4}).sigma[0][0], 4);
  EXPECT_TRUE(models({4, 26, 4, 4}).white[0]);
  EXPECT_EQ(models({4, 26, 4, 4}).confidence, Confidence::kUnsure);
  EXPECT_FLOAT_EQ(models({20, 4}).sigma[0][0], 4);
  EXPECT_FLOAT_EQ(models({29, 28, 30, 4}).sigma[0][0], 22.75f);
  EXPECT_FLOAT_EQ(models({0, 1, 0, 2}).sigma[0][0], 0.75f);
}

// One that shows something else would come into the others where it differs by less than noise.
TEST(StillNoise, OneOtherLayerAmongManyIsEnough) {
  std::vector<TestImage> layers(6, texture());
  for (size_t z = 0; z < layers.size(); ++z) add_noise(layers[z], 30, static_cast<uint32_t>(z + 2));
  EXPECT_TRUE(still_noise_of(layers).between.known);
  layers[1] = texture(2 * kSide);
  add_noise(layers[1], 30, 20);
  EXPECT_FALSE(still_noise_of(layers).between.known);
}

}  // namespace
}  // namespace grainless
