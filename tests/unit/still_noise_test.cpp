// SPDX-License-Identifier: MIT
#include "engine/noise/still_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/noise/common_blocks.h"
#include "engine/noise/estimate.h"
#include "engine/noise/layer_tones.h"
#include "engine/noise/pair_blocks.h"
#include "engine/noise/sample.h"
#include "engine/noise/tone_profile.h"
#include "engine/noise/volume_noise.h"
#include "engine/plan/fusion_plan.h"
#include "engine/plan/stack_plan.h"
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

NoiseModel measured(const std::vector<TestImage>& layers, NoiseModel noise,
                    const PictureNoise* sure = nullptr, double most = HUGE_VAL,
                    const PictureNoise* of_most = nullptr) {
  ThreadPool pool(2);
  std::vector<Sample> samples;
  for (const TestImage& layer : layers) samples.push_back(take_sample(layer.view(), pool, {}));
  measure_layers(samples, {sure, of_most, most}, pool, {}, noise);
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
  EXPECT_FALSE(noise.stack.still);
  EXPECT_FALSE(noise.stack.between.known);
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
  EXPECT_FALSE(noise.stack.still);
  EXPECT_LE(noise.sigma[0][0], 2);
}

// An animation without noise: something scrolls, and the rest stays to the last bit.
TEST(StillNoise, NotOfLayersThatRepeatEachOtherInPart) {
  TestImage scene = texture();
  add_noise(scene, 30, 1);
  for (const int32_t still_rows : {kSide / 4, kSide / 2}) {
    std::vector<TestImage> layers(4, scene);
    for (size_t z = 0; z < layers.size(); ++z) {
      for (int32_t y = still_rows; y < kSide; ++y) {
        for (int32_t x = 0; x < kSide; ++x) {
          const int32_t from = (x + 17 * static_cast<int32_t>(z)) % kSide;
          for (int32_t c = 0; c < 3; ++c) layers[z].set(x, y, c, scene.get(from, y, c));
        }
      }
    }
    const NoiseModel noise = still_noise_of(layers);
    EXPECT_FALSE(noise.stack.still) << still_rows;
    EXPECT_FALSE(noise.stack.between.known) << still_rows;
    EXPECT_LE(noise.sigma[0][0], 2) << still_rows;
  }
}

TestImage out_of_focus(const TestImage& image) {
  TestImage result = image;
  for (int32_t y = 1; y + 1 < image.height; ++y) {
    for (int32_t x = 1; x + 1 < image.width; ++x) {
      for (int32_t c = 0; c < 3; ++c) {
        const float cross = image.get(x - 1, y, c) + image.get(x + 1, y, c) +
                            image.get(x, y - 1, c) + image.get(x, y + 1, c);
        result.set(x, y, c, 0.5f * image.get(x, y, c) + 0.125f * cross);
      }
    }
  }
  return result;
}

// A focus series: what is sharp in one layer only differs as evenly as noise.
TEST(StillNoise, NotOfLayersOfWhichSomeAreSharper) {
  TestImage scene = texture();
  add_noise(scene, 20, 1);
  std::vector<TestImage> layers{scene, out_of_focus(scene)};
  layers.push_back(out_of_focus(layers[1]));
  layers.push_back(out_of_focus(layers[2]));
  for (size_t z = 0; z < layers.size(); ++z) add_noise(layers[z], 2, static_cast<uint32_t>(z + 2));
  const NoiseModel noise = still_noise_of(layers);
  EXPECT_FALSE(noise.stack.still);
  EXPECT_FALSE(noise.stack.between.known);
  EXPECT_LE(noise.sigma[0][0], 2);
}

// So much noise that most squares seem to stand still.
TEST(StillNoise, OfASeriesOfFocusIsEachLayersOwnWhereThatIsSure) {
  TestImage scene = texture();
  add_noise(scene, 8, 1);
  std::vector<TestImage> layers{scene, scene, out_of_focus(scene)};
  for (size_t z = 0; z < layers.size(); ++z) add_noise(layers[z], 12, static_cast<uint32_t>(z + 2));
  for (const bool white : {true, false}) {
    NoiseModel noise = white_noise(3, 12);
    noise.white[0] = white;
    const NoiseModel found = measured(layers, noise);
    EXPECT_EQ(found.stack.between.known, !white);
    EXPECT_TRUE(found.stack.between.in_sharpness);
  }
  layers.back() = scene;
  add_noise(layers.back(), 12, 4);
  const NoiseModel same = measured(layers, white_noise(3, 12));
  EXPECT_TRUE(same.stack.between.known);
  EXPECT_FALSE(same.stack.between.in_sharpness);
}

// What is more than that noise counts in full, then.
TEST(StillNoise, OfASeriesOfFocusForgivesNothing) {
  NoiseModel noise = white_noise(3, 5);
  noise.stack.between.known = true;
  std::fill_n(&noise.stack.between.sigma[0][0], kMaxLevels * kMaxChannels, 10.0f);
  const auto gain = [&](bool in_sharpness) {
    noise.stack.between.in_sharpness = in_sharpness;
    return make_fusion_plan(Params{}, 1, 3, noise).gain[0][0];
  };
  EXPECT_FLOAT_EQ(gain(true), 2 * gain(false));
}

// A dithered picture among others.
TEST(StillNoise, NotMoreThanALayerVariesBy) {
  std::vector<TestImage> layers(3, TestImage(kFormat, kSide, kSide));
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      for (int32_t c = 0; c < 3; ++c) {
        layers[0].set(x, y, c, 120 + 0.02f * static_cast<float>(x));
        layers[1].set(x, y, c, 120);
        layers[2].set(x, y, c, 120 - 0.02f * static_cast<float>(y));
      }
    }
  }
  add_noise(layers[1], 60, 3);
  const NoiseModel noise = still_noise_of(layers);
  EXPECT_FALSE(noise.stack.still);
  EXPECT_FALSE(noise.stack.between.known);
  EXPECT_LE(noise.sigma[0][0], 2);
}

TEST(StillNoise, IsWhatStillLayersDifferBy) {
  for (const size_t count : {2, 5}) {
    std::vector<TestImage> layers(count, texture());
    for (size_t z = 0; z < count; ++z) add_noise(layers[z], 10, static_cast<uint32_t>(z + 2));
    const NoiseModel noise = still_noise_of(layers);
    EXPECT_TRUE(noise.stack.still);
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
  EXPECT_TRUE(noise.stack.still);
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
  EXPECT_EQ(noise.stack.told_tones, 0);
  for (const float tone : noise.stack.tones) EXPECT_EQ(tone, 1.0f);
}

// So small that no tone has blocks enough. Layers are told apart all the same.
TEST(StillNoise, OfTonesOfASmallPictureIsThatOfAllOfIt) {
  constexpr int32_t kSmall = 64;
  std::vector<TestImage> layers(2, TestImage(kFormat, kSmall, kSmall));
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 5);
  for (TestImage& layer : layers) {
    for (int32_t y = 0; y < kSmall; ++y) {
      for (int32_t x = 0; x < kSmall; ++x) {
        for (int32_t c = 0; c < 3; ++c)
          layer.set(x, y, c, static_cast<float>(20 + 3 * x) + normal(random));
      }
    }
  }
  const NoiseModel noise = still_noise_of(layers);
  ASSERT_TRUE(noise.stack.between.known);
  for (const float tone : noise.stack.between.tones) EXPECT_EQ(tone, 1.0f);
}

// By a pixel, under noise so strong that the layers differ evenly all the same.
TEST(StillNoise, NotOfADriftUnderNoise) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 2; ++z) {
    layers.push_back(texture(z));
    add_noise(layers.back(), 14, static_cast<uint32_t>(z + 2));
  }
  EXPECT_FALSE(measured(layers, white_noise(3, 14)).stack.still);
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
    EXPECT_FALSE(noise.stack.still);
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

// A pan over waves, of which a few frames surely show little noise, was taken for strong one.
TEST(StillNoise, IsNotFarStrongerThanWhatALayerSurelyShows) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) {
    layers.push_back(texture(3 * z));
    add_noise(layers.back(), 5, static_cast<uint32_t>(z + 2));
  }
  NoiseModel noise = white_noise(3, 2);
  noise.confidence = Confidence::kUnsure;
  EXPECT_NEAR(measured(layers, noise, nullptr, 6).sigma[0][0], 5, 0.7);
  const NoiseModel limited = measured(layers, noise, nullptr, 4);
  EXPECT_EQ(limited.sigma[0][0], 2);
  EXPECT_EQ(limited.confidence, Confidence::kUnsure);
}

// What is displaced leaves more where it is full of texture.
TEST(StillNoise, IsThatOfUsualBlocksWhereMostLayersShowIt) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) {
    layers.push_back(texture(3 * z));
    const TestImage scene = layers.back();
    const auto seed = static_cast<uint32_t>(z + 2);
    add_noise(layers.back(), 5, seed);
    TestImage noisier = scene;
    add_noise(noisier, 8, seed);
    for (int32_t y = 0; y < kSide; ++y) {
      for (int32_t x = 0; x < kSide / 4; ++x) {
        for (int32_t c = 0; c < 3; ++c) layers.back().set(x, y, c, noisier.get(x, y, c));
      }
    }
  }
  NoiseModel noise = white_noise(3, 4);
  noise.confidence = Confidence::kUnsure;
  EXPECT_NEAR(measured(layers, noise, nullptr, 12).sigma[0][0], 8, 1);
  const NoiseModel weak = white_noise(3, 4), strong = white_noise(3, 6.5f);
  EXPECT_NEAR(measured(layers, noise, nullptr, 12, &weak).sigma[0][0], 5, 0.7);
  EXPECT_EQ(measured(layers, noise, nullptr, 12, &strong).sigma[0][0], 6.5f);
}

// Of many pairs a few hold too little that shows whether all of it moves alike.
TEST(StillNoise, IsWhatUndoneDisplacementsLeaveOfPairsThatTell) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 8; ++z) {
    layers.push_back(texture(3 * z));
    add_noise(layers.back(), 5, static_cast<uint32_t>(z + 2));
  }
  for (int32_t y = 0; y < kSide; y += 24) {
    for (int32_t x = 0; x < kSide; x += 24) layers[7].set(x, y, 0, NAN);
  }
  NoiseModel noise = white_noise(3, 2);
  noise.confidence = Confidence::kUnsure;
  noise = measured(layers, noise);
  EXPECT_EQ(noise.confidence, Confidence::kMeasured);
  EXPECT_NEAR(noise.sigma[0][0], 5, 0.7);
}

// Two squares of texture in each layer, and nothing else: those of all pairs together tell.
TEST(StillNoise, IsWhatUndoneDisplacementsLeaveThatFewSquaresOfManyPairsShow) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 8; ++z) {
    layers.push_back(TestImage(kFormat, kSide, kSide));
    const TestImage moving = texture(3 * z);
    for (int32_t y = 0; y < kSide; ++y) {
      for (int32_t x = 0; x < kSide; ++x) {
        const bool textured = x / 64 == 1 && y < 64;
        for (int32_t c = 0; c < 3; ++c) {
          layers[z].set(x, y, c, textured ? moving.get(x, y, c) : 128);
        }
      }
    }
    add_noise(layers[z], 5, static_cast<uint32_t>(z + 2));
  }
  NoiseModel noise = white_noise(3, 2);
  noise.confidence = Confidence::kUnsure;
  EXPECT_NEAR(measured(layers, noise).sigma[0][0], 5, 0.7);
}

// What flows shows no displacement, and is none of the noise beside it.
TEST(StillNoise, IsNotWhatFlowsBesideWhatShowsDisplacements) {
  for (const bool flows : {false, true}) {
    std::vector<TestImage> layers;
    for (int32_t z = 0; z < 4; ++z) {
      layers.push_back(texture(3 * z));
      const TestImage flowing = texture(flows ? kSide * z : 0, 0, true);
      for (int32_t y = 0; y < kSide; ++y) {
        for (int32_t x = 2 * kSide / 3; x < kSide; ++x) {
          const float value = flowing.get(x, y, 0) - 128;
          for (int32_t c = 0; c < 3; ++c) layers.back().set(x, y, c, 128 + 5 * value);
        }
      }
      add_noise(layers.back(), 5, static_cast<uint32_t>(z + 2));
    }
    EXPECT_NEAR(still_noise_of(layers).sigma[0][0], flows ? 2 : 5, 0.7) << flows;
  }
}

// Some were sure and others weren't, or dared as much as there is: their mean is unsure.
TEST(StillNoise, IsWhatUndoneDisplacementsLeaveOfUnsureLayersThatFoundAsMuch) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) {
    layers.push_back(texture(3 * z));
    add_noise(layers.back(), 5, static_cast<uint32_t>(z + 2));
  }
  NoiseModel noise = white_noise(3, 5.4f);
  noise.confidence = Confidence::kUnsure;
  noise.sigma[0][1] = noise.sigma[0][2] = 1;
  noise.strength[0] = 1.6f;
  noise = measured(layers, noise);
  EXPECT_EQ(noise.confidence, Confidence::kMeasured);
  EXPECT_EQ(noise.strength[0], 1.0f);
  for (int32_t c = 0; c < 3; ++c) EXPECT_NEAR(noise.sigma[0][c], 5, 0.8);
}

// Parts of each layer that move in other directions than the rest, as leaves do.
TestImage leaves(int32_t z) {
  TestImage image = texture(3 * z);
  const TestImage up = texture(300 - 4 * z), down = texture(200 + 7 * z);
  for (int32_t y = kSide / 3; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      const TestImage& other = y < 2 * kSide / 3 ? up : down;
      for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, other.get(x, y, c));
    }
  }
  return image;
}

// Up to what is left where most displacements are undone.
TEST(StillNoise, OfOneSureLayerIsThatOfOthersThatMove) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) {
    layers.push_back(leaves(z));
    add_noise(layers.back(), 5, static_cast<uint32_t>(z + 2));
  }
  NoiseModel noise = white_noise(3, 2);
  noise.confidence = Confidence::kUnsure;
  EXPECT_EQ(measured(layers, noise).confidence, Confidence::kUnsure);
  EXPECT_EQ(measured(layers, noise).sigma[0][0], 2.0f);
  NoiseModel sure = white_noise(3, 4.5f);
  sure.strength[0] = 1.3f;
  const NoiseModel taken = measured(layers, noise, &sure);
  EXPECT_EQ(taken.confidence, Confidence::kMeasured);
  EXPECT_EQ(taken.sigma[0][0], 4.5f);
  EXPECT_EQ(taken.strength[0], 1.3f);
  // It took texture for noise.
  sure = white_noise(3, 14);
  EXPECT_NEAR(measured(layers, noise, &sure).sigma[0][0], 5.2, 0.8);
  // Others that are sure need no witness.
  noise.confidence = Confidence::kMeasured;
  EXPECT_EQ(measured(layers, noise, &sure).sigma[0][0], 2.0f);
}

// Displaced by parts of a pixel.
TestImage drifting(double right) {
  const auto whole = static_cast<int32_t>(right);
  const auto part = static_cast<float>(right - whole);
  TestImage image = texture(whole);
  const TestImage next = texture(whole + 1);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      for (int32_t c = 0; c < 3; ++c) {
        image.set(x, y, c, (1 - part) * image.get(x, y, c) + part * next.get(x, y, c));
      }
    }
  }
  return image;
}

// Squares of 24 pixels that each move by parts of a pixel, by themselves; half of them hold as much
// contrast as given.
TestImage trembling(uint32_t seed, float half) {
  constexpr int32_t kLeaf = 24;
  const TestImage moved[] = {drifting(0.2), drifting(0.6), drifting(1), drifting(1.4)};
  TestImage image(kFormat, kSide, kSide);
  std::mt19937 random(seed);
  for (int32_t top = 0; top < kSide; top += kLeaf) {
    for (int32_t left = 0; left < kSide; left += kLeaf) {
      const TestImage& from = moved[random() % 4];
      for (int32_t i = 0; i < kLeaf * kLeaf; ++i) {
        const int32_t x = left + i % kLeaf, y = top + i / kLeaf;
        const float contrast = x < kSide / 2 ? half : 1.0f;
        for (int32_t c = 0; c < 3; ++c) {
          image.set(x, y, c, 128 + contrast * (from.get(x, y, c) - 128));
        }
      }
    }
  }
  return image;
}

// Nothing moves alike, and no displacement tells what is left; what motion can't hold does, where
// it is most of what layers differ by.
TEST(StillNoise, IsWhatTheWeakestMixturesOfLayersHold) {
  const auto trembling_under = [](float sigma, uint32_t count, float half) {
    std::vector<TestImage> layers;
    for (uint32_t z = 0; z < count; ++z) {
      layers.push_back(trembling(z + 1, half));
      add_noise(layers.back(), sigma, z + 20);
    }
    return still_noise_of(layers);
  };
  for (const uint32_t count : {4, 8}) {
    const NoiseModel noise = trembling_under(11, count, 0.2f);
    EXPECT_FALSE(noise.stack.still) << count;
    EXPECT_EQ(noise.confidence, Confidence::kMeasured) << count;
    EXPECT_NEAR(noise.sigma[0][0], 11, 2) << count;
    EXPECT_EQ(trembling_under(2.5f, count, 1).sigma[0][0], 2.0f) << "motion is most of it" << count;
  }
  EXPECT_EQ(trembling_under(11, 3, 0.2f).sigma[0][0], 2.0f) << "motion may hold all of it";
}

// Pictures that have nothing in common differ as much in all mixtures.
TEST(StillNoise, NotOfDifferentPictures) {
  const auto sigma_of = [](bool same) {
    std::vector<TestImage> layers;
    for (int32_t z = 0; z < 4; ++z) {
      layers.push_back(TestImage(kFormat, kSide, kSide));
      const TestImage fine = texture(kSide * z, 0, true);
      for (int32_t y = 0; y < kSide; ++y) {
        for (int32_t x = 0; x < kSide; ++x) {
          // Unevenly, as in pictures.
          const float contrast = x / 32 % 2 == 0 ? 1.7f : 2.1f;
          const float common = same ? 60 * static_cast<float>(y / 24 % 2) : 0;
          for (int32_t c = 0; c < 3; ++c) {
            layers[z].set(x, y, c, 128 + contrast * (fine.get(x, y, c) - 128) + common);
          }
        }
      }
    }
    return still_noise_of(layers).sigma[0][0];
  };
  EXPECT_GT(sigma_of(true), 8);
  EXPECT_EQ(sigma_of(false), 2.0f);
}

// How many layers on either side are averaged, of so many that drift.
int32_t reach_of(size_t count, double by, float sigma) {
  std::vector<TestImage> layers;
  for (size_t z = 0; z < count; ++z) {
    layers.push_back(drifting(0.3 + by * static_cast<double>(z)));
    add_noise(layers.back(), sigma, static_cast<uint32_t>(z + 2));
  }
  const NoiseModel noise = measured(layers, white_noise(3, sigma));
  return noise.stack.between.known ? make_fusion_plan(Params{}, 15, 3, noise).depth : 0;
}

// The first and the last of them by more than two layers may.
TEST(StillNoise, LayersThatDifferLittleOnAverageAreAveraged) {
  EXPECT_EQ(reach_of(4, 0.15, 14), 15);
  EXPECT_EQ(reach_of(4, 0.2, 12), 1) << "more";
  EXPECT_EQ(reach_of(4, 0.2, 8), 0) << "further";
}

// Layers beside each other differ by little, and further ones by too much.
TEST(StillNoise, OfLayersThatDriftTheNearAreAveraged) {
  EXPECT_EQ(reach_of(8, 0.1, 14), 15);
  EXPECT_EQ(reach_of(8, 0.16, 14), 2);
  EXPECT_EQ(reach_of(8, 0.2, 14), 1);
  EXPECT_EQ(reach_of(8, 0.2, 8), 0);
}

// A few pairs may be short of what all of them are together: something that passes in two of eight.
TEST(StillNoise, ManyLayersAreAveragedThoughSomethingPasses) {
  const auto between = [](bool all) {
    std::vector<TestImage> layers(8, texture());
    for (int32_t y = 0; y < kSide; ++y) {
      for (int32_t x = 0; x < kSide; ++x) {
        if (!all && x / 64 == 1) continue;
        const float value = 20 + static_cast<float>(x + y) / 4;
        for (int32_t c = 0; c < 3; ++c) {
          layers[2].set(x, y, c, value);
          layers[5].set(x, y, c, value);
        }
      }
    }
    for (size_t z = 0; z < 8; ++z) add_noise(layers[z], 14, static_cast<uint32_t>(z + 2));
    return measured(layers, white_noise(3, 14)).stack.between.known;
  };
  EXPECT_TRUE(between(false));
  EXPECT_FALSE(between(true)) << "two show something else";
}

// Neighbours differ as little as still layers do, the first and the last don't.
TEST(StillNoise, NotOfManyLayersThatDriftSlowly) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 8; ++z) {
    layers.push_back(drifting(0.1 + 0.12 * z));
    add_noise(layers.back(), 14, static_cast<uint32_t>(z + 2));
  }
  EXPECT_FALSE(measured(layers, white_noise(3, 14)).stack.still);
}

// Each layer shows less than it holds: noise that a camera took out where a picture is flat.
TEST(StillNoise, HidesWhereShakenLayersSeemToHoldNone) {
  const auto hidden = [](double by, float sigma, float found) {
    std::vector<TestImage> layers;
    for (int32_t z = 0; z < 4; ++z) {
      layers.push_back(drifting(0.3 + by * z));
      add_noise(layers.back(), sigma, static_cast<uint32_t>(z + 2));
    }
    NoiseModel noise = white_noise(3, found);
    noise.confidence = Confidence::kLittle;
    return measured(layers, noise);
  };
  const NoiseModel shaken = hidden(0.25, 8, 0.8f);
  EXPECT_EQ(shaken.confidence, Confidence::kMeasured);
  EXPECT_NEAR(shaken.sigma[0][0], 8, 1);
  EXPECT_EQ(hidden(0.25, 1.5f, 0.8f).sigma[0][0], 0.8f) << "as much as interpolation leaves";
  EXPECT_EQ(hidden(3, 8, 0.8f).sigma[0][0], 0.8f) << "drawings that move leave as much";
  EXPECT_EQ(hidden(0.25, 8, 0).sigma[0][0], 0) << "drawn";
}

// A gradient whose noise is twice as strong where it is dark, or even.
TestImage toned(bool even, uint32_t seed) {
  constexpr int32_t kLarge = 224;
  TestImage image(kFormat, kLarge, kLarge);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int32_t y = 0; y < kLarge; ++y) {
    for (int32_t x = 0; x < kLarge; ++x) {
      const float value = 40 + 170 * static_cast<float>(x) / kLarge;
      const float sigma = even ? 8 : 12 - 7 * static_cast<float>(x) / kLarge;
      for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, value + sigma * normal(random));
    }
  }
  return image;
}

// One layer in which it doesn't show surely enough doesn't count.
TEST(StillNoise, OfTonesIsWhatMostLayersSurelyShow) {
  ThreadPool pool(2);
  for (const size_t even : {1, 2}) {
    std::vector<TestImage> layers;
    for (size_t z = 0; z < 4; ++z) layers.push_back(toned(z < even, static_cast<uint32_t>(z + 2)));
    std::vector<ConstImage> views;
    for (const TestImage& layer : layers) views.push_back(layer.view());
    const NoiseModel noise = estimate_volume_noise(views, true, NoiseKind::kSure, pool, {});
    EXPECT_EQ(noise.stack.alone.known, even < 2) << even;
  }
}

// Texture of several scales, which may be noise.
TestImage unsure_layer(uint32_t seed) {
  constexpr int32_t kLarge = 224;
  TestImage image(kFormat, kLarge, kLarge);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> grain(size_t{kLarge} * kLarge);
  for (float& value : grain) value = normal(random);
  for (int32_t y = 0; y < kLarge; ++y) {
    for (int32_t x = 0; x < kLarge; ++x) {
      float value = 128;
      for (const int32_t step : {1, 2, 4}) {
        const float strength = step == 1 ? 6.0f : 4.0f + 2.0f * static_cast<float>(step);
        value += strength * grain[static_cast<size_t>(y / step) * kLarge + x / step];
      }
      for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, value + normal(random));
    }
  }
  return image;
}

// Nor does one that doesn't say what it holds.
TEST(StillNoise, OfTonesIsWhatMostLayersShowOfWhichSomeAreUnsure) {
  ThreadPool pool(2);
  for (const size_t unsure : {1, 2}) {
    std::vector<TestImage> layers;
    for (size_t z = 0; z < 4; ++z) {
      const auto seed = static_cast<uint32_t>(z + 2);
      layers.push_back(z < unsure ? unsure_layer(seed) : toned(false, seed));
    }
    std::vector<ConstImage> views;
    for (const TestImage& layer : layers) views.push_back(layer.view());
    ASSERT_EQ(estimate_noise(views[0], NoiseKind::kSure, pool, {}).confidence, Confidence::kUnsure);
    const NoiseModel noise = estimate_volume_noise(views, true, NoiseKind::kSure, pool, {});
    EXPECT_EQ(noise.stack.alone.known, unsure < 2) << unsure;
    EXPECT_EQ(noise.confidence == Confidence::kMeasured, unsure < 2) << unsure;
  }
}

// As of demosaicing, so coarse that no square of it seems to stand still.
void add_coarse_noise(TestImage& image, float sigma, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, sigma);
  for (const int32_t side : {2, 4}) {
    const float share = side == 2 ? 1.0f : 0.35f;
    for (int32_t top = 0; top < kSide; top += side) {
      for (int32_t left = 0; left < kSide; left += side) {
        for (int32_t c = 0; c < 3; ++c) {
          const float value = share * normal(random);
          for (int32_t i = 0; i < side * side; ++i) {
            const int32_t x = left + i % side, y = top + i / side;
            image.set(x, y, c, image.get(x, y, c) + (x < kSide / 2 ? 1.4f : 1.0f) * value);
          }
        }
      }
    }
  }
}

// A dark half and a bright one, in which less noise is. Of fewer than four layers no square of it
// seems to stand still.
TEST(StillNoise, OfTonesIsThatOfAllSquaresWhereLayersSurelyStandStill) {
  TestImage halves(kFormat, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      for (int32_t c = 0; c < 3; ++c) halves.set(x, y, c, x < kSide / 2 ? 60.0f : 180.0f);
    }
  }
  for (const size_t count : {3, 4}) {
    std::vector<TestImage> layers(count, halves);
    for (size_t z = 0; z < count; ++z)
      add_coarse_noise(layers[z], 4, static_cast<uint32_t>(z + 40));
    const NoiseModel noise = still_noise_of(layers);
    EXPECT_TRUE(noise.stack.still) << count;
    EXPECT_EQ(noise.stack.between.known, count > 3);
    EXPECT_GT(noise.stack.told_tones, 0) << count;
    EXPECT_GT(noise.stack.layer_tones[3], 1.5f * noise.stack.layer_tones[11]) << count;
  }
}

// As coarse as motion or a change of light, which differ in one way more than in others, or as what
// has moved far, which shows nothing twice.
TEST(StillNoise, CoarseNoiseIsToldByAllLayersTogether) {
  enum class Of { kNoise, kLight, kMoved, kHalfMoved };
  const auto between = [](Of kind) {
    std::vector<TestImage> layers;
    for (int32_t z = 0; z < 4; ++z) {
      layers.push_back(texture(kind == Of::kMoved ? kSide * z : 0));
      add_coarse_noise(layers.back(), 4, static_cast<uint32_t>(z + 2));
      const TestImage other = texture(kSide * z, z == 0 ? 6.0f : 0.0f);
      const int32_t from = kind == Of::kLight || kind == Of::kHalfMoved ? kSide / 3 : kSide;
      for (int32_t y = 0; y < kSide; ++y) {
        for (int32_t x = from; x < kSide; ++x) {
          for (int32_t c = 0; c < 3; ++c) {
            const float light = layers.back().get(x, y, c) + 6 * static_cast<float>(z % 2);
            layers.back().set(x, y, c, kind == Of::kLight ? light : other.get(x, y, c));
          }
        }
      }
    }
    return still_noise_of(layers).stack.between.known;
  };
  EXPECT_TRUE(between(Of::kNoise));
  EXPECT_FALSE(between(Of::kLight));
  EXPECT_FALSE(between(Of::kMoved));
  EXPECT_FALSE(between(Of::kHalfMoved));
}

// A square of which half has moved far shows the structure of the other half, and differs by more
// than fainter squares that have moved whole.
TEST(StillNoise, CoarseNoiseIsNotToldByASquareOfWhichHalfMoved) {
  for (const int32_t by : {0, kSide}) {
    std::vector<TestImage> layers;
    for (int32_t z = 0; z < 4; ++z) {
      layers.push_back(TestImage(kFormat, kSide, kSide));
      const TestImage here = texture(), there = texture(by * z);
      for (int32_t y = 0; y < kSide; ++y) {
        for (int32_t x = 0; x < kSide; ++x) {
          const float contrast = x < kSide / 2 ? 2.0f : x < 2 * kSide / 3 ? 1.0f : 0.5f;
          const TestImage& from = x < kSide / 2 ? here : there;
          for (int32_t c = 0; c < 3; ++c) {
            layers.back().set(x, y, c, 128 + contrast * (from.get(x, y, c) - 128));
          }
        }
      }
      add_coarse_noise(layers.back(), 4, static_cast<uint32_t>(z + 2));
    }
    EXPECT_EQ(still_noise_of(layers).stack.between.known, by == 0) << by;
  }
}

// What moves shows it, and flat squares beside it don't.
TEST(StillNoise, CoarseNoiseIsNotToldByWhatWouldNotShowMotion) {
  for (const int32_t by : {0, 1}) {
    std::vector<TestImage> layers;
    for (int32_t z = 0; z < 4; ++z) {
      layers.push_back(texture(by * z));
      for (int32_t y = 0; y < kSide; ++y) {
        for (int32_t x = 0; x < 2 * kSide / 3; ++x) {
          const float ramp = x < 64 && y < 64 ? static_cast<float>(y) : 0;
          for (int32_t c = 0; c < 3; ++c) layers.back().set(x, y, c, 100 + ramp);
        }
      }
      add_coarse_noise(layers.back(), 4, static_cast<uint32_t>(z + 2));
    }
    EXPECT_EQ(still_noise_of(layers).stack.between.known, by == 0) << by;
  }
}

// What still layers differ by tells them apart by the noise of tones, or by that of most places.
TEST(StillNoise, OfTonesThatNothingTellsTellsNoLayersApart) {
  NoiseModel noise = white_noise(3, 5);
  noise.stack.still = noise.stack.between.known = true;
  std::fill_n(&noise.stack.between.sigma[0][0], kMaxLevels * kMaxChannels, 10.0f);
  std::fill_n(noise.stack.between.tones, kNoiseTones, 1.0f);
  const auto gain = [&](int32_t told) {
    noise.stack.told_tones = told;
    return make_fusion_plan(Params{}, 1, 3, noise).gain[0][0];
  };
  EXPECT_FLOAT_EQ(gain(1), 4 * gain(0));
}

// Noise of 5 that each layer surely shows to be three times as strong in black as in white.
NoiseModel toned_in_each() {
  NoiseModel noise = white_noise(3, 5);
  noise.stack.alone.known = true;
  double scale = 0;
  noise.stack.alone.bend = bend_with([](double at) { return 0.5 + at / 255; }, scale);
  std::fill_n(noise.stack.alone.sigma[0], 3, static_cast<float>(5 * scale));
  return noise;
}

// A few tones that stood still say little of the others, of which each layer surely shows more.
TEST(StillNoise, OfTonesIsThatOfEachLayerWhereFewTell) {
  NoiseModel noise = toned_in_each();
  for (const bool doubted : {false, true}) {
    for (const int32_t told : {0, 3, 4}) {
      noise.stack.told_tones = told;
      noise.stack.doubted_tones = doubted;
      EXPECT_EQ(evened_noise(noise).bend.enabled != 0, doubted || told < 4) << told;
    }
  }
}

// Flat and bright parts of a pan seem to stand still, and hold far less than what was measured.
TEST(StillNoise, OfTonesIsThatOfEachLayerWhereNoneIsAsNoisyAsTheLayer) {
  NoiseModel noise = toned_in_each();
  noise.stack.told_tones = 6;
  for (const float variance : {0.5f, 1.0f}) {
    std::fill_n(noise.stack.tones, kNoiseTones, variance);
    EXPECT_EQ(evened_noise(noise).bend.enabled != 0, variance < 1) << variance;
  }
}

NoiseModel white_on_levels(float sigma) {
  NoiseModel noise = white_noise(3, sigma);
  noise.levels = kSampleLevels;
  for (int32_t l = 0; l < kSampleLevels; ++l) std::fill_n(noise.sigma[l], 3, std::ldexp(sigma, -l));
  return noise;
}

// Parts of a pixel leave as much of sharp texture as weak noise is; whole ones leave nothing.
TEST(StillNoise, OfTonesIsNotWhatPartsOfAPixelLeave) {
  const auto told = [](bool whole, float sigma) {
    std::vector<TestImage> layers;
    for (int32_t z = 0; z < 4; ++z) {
      layers.push_back(whole ? texture(2 * z) : drifting(0.4 * z));
      add_noise(layers.back(), sigma, static_cast<uint32_t>(z + 2));
    }
    NoiseModel noise = white_on_levels(sigma);
    return measured(layers, noise).stack.told_tones;
  };
  EXPECT_GT(told(true, 1), 0);
  EXPECT_GT(told(false, 6), 0);
  EXPECT_EQ(told(false, 1), 0);
}

// Of which pixels beside each other have half in common.
void add_smooth_noise(TestImage& image, float sigma, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, sigma / std::sqrt(2.0f));
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t c = 0; c < 3; ++c) {
      float last = normal(random);
      for (int32_t x = 0; x < kSide; ++x) {
        const float next = normal(random);
        image.set(x, y, c, image.get(x, y, c) + last + next);
        last = next;
      }
    }
  }
}

// Noise as it was measured of each of four layers that have moved by so many pixels.
NoiseModel measured_of_moved(int32_t by, float found, bool white) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) {
    layers.push_back(texture(by * z));
    const auto seed = static_cast<uint32_t>(z + 2);
    white ? add_noise(layers.back(), 5, seed) : add_smooth_noise(layers.back(), 5, seed);
  }
  NoiseModel noise = white_on_levels(found);
  noise.white[0] = white;
  for (int32_t c = 0; c < 3; ++c) noise.sigma[1][c] *= white ? 1 : 1.2f;
  return measured(layers, noise);
}

// Filters need more of coarse noise than its variance, but not where it was texture.
TEST(StillNoise, OfTonesIsDoubtedWhereCoarseNoiseMoves) {
  EXPECT_TRUE(measured_of_moved(3, 5, false).stack.doubted_tones);
  EXPECT_GT(measured_of_moved(3, 5, true).stack.told_tones, 0);
  EXPECT_FALSE(measured_of_moved(3, 5, true).stack.doubted_tones) << "white";
  EXPECT_FALSE(measured_of_moved(3, 8, false).stack.doubted_tones) << "each layer's was texture";
  EXPECT_GT(measured_of_moved(0, 5, false).stack.told_tones, 0);
  EXPECT_FALSE(measured_of_moved(0, 5, false).stack.doubted_tones) << "still";
  EXPECT_GT(measured_of_moved(3, 8, false).stack.told_tones, 0);
}

// Flat parts beside texture that moves by parts of a pixel, of which undone displacements leave
// more than of noise.
TEST(StillNoise, OfTonesIsNotToldByWhatIsLeftOfThePicture) {
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) {
    layers.push_back(drifting(3.3 * z));
    for (int32_t y = 0; y < kSide; ++y) {
      for (int32_t x = 0; x < kSide; ++x) {
        const float contrast = x < kSide / 2 ? 0.05f : 0.3f;
        const float value = contrast * (layers.back().get(x, y, 0) - 128);
        for (int32_t c = 0; c < 3; ++c) {
          layers.back().set(x, y, c, value + (x < kSide / 2 ? 200.0f : 70.0f));
        }
      }
    }
    add_noise(layers.back(), 2, static_cast<uint32_t>(z + 2));
  }
  EXPECT_EQ(measured(layers, white_on_levels(2)).stack.told_tones, 0);
}

// Layers whose tones nothing tells that stood still are told apart by what each of them shows.
TEST(StillNoise, OfTonesThatEachLayerShowsTellsLayersApart) {
  const auto darkest = [](int32_t told, bool doubted) {
    NoiseModel noise = toned_in_each();
    noise.stack.told_tones = told;
    noise.stack.doubted_tones = doubted;
    tell_layers_apart(noise);
    return noise.stack.layer_tones[0];
  };
  EXPECT_NEAR(darkest(3, false), 3.55, 0.1);
  EXPECT_NEAR(darkest(8, true), 3.55, 0.1);
  EXPECT_EQ(darkest(4, false), 1.0f);
}

// What seems to stand still and differs by more has moved under the noise; noise that a camera has
// smoothed may be stronger than one layer shows.
TEST(StillNoise, OfLayersIsNoMoreThanWhiteNoiseThatEachSurelyShows) {
  const auto most = [](int32_t told, bool white, Confidence confidence, float tone,
                       float flat = 0) {
    NoiseModel noise = white_noise(3, 5);
    noise.stack.told_tones = told;
    noise.white[0] = white;
    noise.confidence = confidence;
    noise.stack.between.known = true;
    noise.stack.between.sigma[0][0] = 10;
    std::fill_n(noise.stack.between.tones, kNoiseTones, tone);
    std::fill_n(noise.stack.between.flat, kNoiseTones, flat);
    tell_layers_apart(noise);
    return noise.stack.between.tones[8];
  };
  EXPECT_NEAR(most(4, true, Confidence::kMeasured, 1), 0.3, 0.01);
  EXPECT_EQ(most(4, true, Confidence::kMeasured, 0.25f), 0.25f);
  EXPECT_EQ(most(3, true, Confidence::kMeasured, 1), 1.0f) << "other tones may be noisier";
  EXPECT_EQ(most(4, false, Confidence::kMeasured, 1), 1.0f);
  EXPECT_EQ(most(4, true, Confidence::kUnsure, 1), 1.0f);
  EXPECT_NEAR(most(4, true, Confidence::kMeasured, 1, 0.6f), 0.73, 0.01) << "flat parts show more";
  EXPECT_NEAR(most(0, true, Confidence::kMeasured, 1, 0.6f), 0.73, 0.01) << "and tell of tones";
}

// Lifted shadows: each layer is sure of the weak noise of its bright parts.
TEST(StillNoise, OfDarkTonesIsWhatTheirFlatPartsDifferBy) {
  std::vector<TestImage> layers;
  for (uint32_t z = 0; z < 4; ++z) {
    layers.emplace_back(kFormat, kSide, kSide);
    std::mt19937 random(z + 2);
    std::normal_distribution<float> normal;
    for (int32_t y = 0; y < kSide; ++y) {
      for (int32_t x = 0; x < kSide; ++x) {
        const bool dark = x < kSide / 2;
        for (int32_t c = 0; c < 3; ++c) {
          layers.back().set(x, y, c, (dark ? 72 : 184) + (dark ? 12 : 2) * normal(random));
        }
      }
    }
  }
  const LayerDifference between = measured(layers, white_noise(3, 2)).stack.between;
  const float variance = between.sigma[0][0] * between.sigma[0][0];
  EXPECT_NEAR(between.flat[4] * variance, 144, 15);
  EXPECT_NEAR(between.flat[0] * variance, 144, 15) << "as the next that is told";
  EXPECT_NEAR(between.flat[11] * variance, 4, 1);
}

// A noisy picture before other, clean ones of texture.
TEST(StillNoise, OfOnePictureIsNotThatOfOthers) {
  ThreadPool pool(2);
  std::vector<TestImage> layers;
  for (int32_t z = 0; z < 4; ++z) layers.push_back(texture(5 * z));
  TestImage flat(kFormat, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      for (int32_t c = 0; c < 3; ++c) flat.set(x, y, c, 60 + 0.5f * static_cast<float>(x));
    }
  }
  layers[0] = flat;
  for (TestImage& layer : layers) add_noise(layer, 0.5f, 8);
  add_noise(layers[0], 12, 7);
  std::vector<ConstImage> views;
  for (const TestImage& layer : layers) views.push_back(layer.view());
  EXPECT_GT(estimate_noise(views[0], NoiseKind::kSure, pool, {}).sigma[0][0], 11);
  EXPECT_EQ(estimate_noise(views[1], NoiseKind::kSure, pool, {}).confidence, Confidence::kUnsure);
  EXPECT_LT(estimate_volume_noise(views, true, NoiseKind::kSure, pool, {}).sigma[0][0], 1);
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
    std::vector<PictureNoise> found;
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
  EXPECT_TRUE(still_noise_of(layers).stack.between.known);
  layers[1] = texture(2 * kSide);
  add_noise(layers[1], 30, 20);
  EXPECT_FALSE(still_noise_of(layers).stack.between.known);
}

// Exposures that are cut off leave the least of their noise, and tell nothing of the others'.
TEST(PairBlocks, TheCalmestPairIsNotOneThatIsCutOff) {
  const auto pair_of = [](double variance, size_t cut_off) {
    LayerPair pair;
    for (size_t i = 0; i < 2 * kFewestBlocks; ++i) {
      PairBlock block{};
      block.traced = true;
      block.cut_off = i < cut_off;
      block.variance[0][0] = block.left.variance[0][0] = variance;
      pair.blocks.push_back(block);
    }
    return pair;
  };
  const auto least = [](const std::vector<LayerPair>& pairs) {
    return left_of(calmest_blocks(pairs, 10), 0, 0, kMostBlocks);
  };
  EXPECT_EQ(least({pair_of(100, 0), pair_of(25, 2 * kFewestBlocks), pair_of(120, 0)}), 100);
  EXPECT_EQ(least({pair_of(100, 0), pair_of(25, kFewestBlocks / 2)}), 25);  // a few places are
  EXPECT_EQ(least({pair_of(25, 2 * kFewestBlocks), pair_of(36, 2 * kFewestBlocks)}), 25);  // all
}

TEST(StillNoise, CancelStops) {
  CancelToken cancel;
  ThreadPool pool(2);
  std::vector<Sample> samples;
  for (uint32_t i = 0; i < 4; ++i) {
    TestImage layer = texture();
    add_noise(layer, 6, i + 1);
    samples.push_back(take_sample(layer.view(), pool, {}));
  }
  cancel.cancel();
  const Callbacks callbacks{&cancel, {}};
  NoiseModel noise = white_noise(3, 2);
  EXPECT_THROW(measure_layers(samples, {}, pool, callbacks, noise), Error);
  EXPECT_THROW(variance_left(samples, pool, callbacks), Error);
  EXPECT_THROW(compare_all_layers(samples, pool, callbacks), Error);
}

}  // namespace
}  // namespace grainless
