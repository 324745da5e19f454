// SPDX-License-Identifier: MIT
// Stacks whose layers hold different noise.
#include "engine/noise/layer_strengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "engine/noise/calm_layers.h"
#include "engine/noise/volume_noise.h"
#include "engine/plan/fusion_plan.h"
#include "engine/plan/stack_plan.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

constexpr float kEmpty = -1;  // a layer without pixels

std::vector<TestImage> layers_of(const std::vector<float>& sigma, PixelFormat format) {
  std::vector<TestImage> layers;
  for (size_t z = 0; z < sigma.size(); ++z) {
    layers.push_back(test::noisy_picture(format, 224, 192, std::max(0.0f, sigma[z]),
                                         5 + static_cast<uint32_t>(z)));
    if (sigma[z] == kEmpty) std::fill(layers[z].bytes.begin(), layers[z].bytes.end(), uint8_t{0});
  }
  return layers;
}

NoiseModel noise_of(const std::vector<float>& sigma, bool all,
                    PixelFormat format = {Component::kU8, 3}) {
  ThreadPool pool(2);
  const std::vector<TestImage> layers = layers_of(sigma, format);
  std::vector<ConstImage> views;
  for (const TestImage& layer : layers) views.push_back(layer.view());
  return estimate_volume_noise(views, all, NoiseKind::kSure, pool, {});
}

TEST(LayerStrengths, AreFoundWhereLayersDifferInNoise) {
  const NoiseModel noise = noise_of({6, 12, 24}, true);
  ASSERT_EQ(noise.stack.strengths.count, 3);
  EXPECT_EQ(noise.confidence, Confidence::kMeasured);
  for (int32_t z = 0; z < 3; ++z) {
    EXPECT_NEAR(noise.stack.strengths.of[z] * noise.sigma[0][0], 6 << z, 0.06 * (6 << z)) << z;
  }
  EXPECT_NEAR(noise.sigma[0][0], std::sqrt(3 / (1 / 36.0 + 1 / 144.0 + 1 / 576.0)), 0.5);
  EXPECT_EQ(noise_of({6, 12, 24}, false).stack.strengths.count, 0) << "of some layers alone";
  EXPECT_EQ(noise_of({9, 10, 9}, true).stack.strengths.count, 0);
}

// A sigma that is given is all layers': what they differ by tells them apart.
TEST(LayerStrengths, DoNotCountForAGivenSigma) {
  NoiseModel measured = white_noise(1, 6);
  measured.stack.strengths = {2, {0.5f, 2}};
  Params params;
  params.auto_sigma = false;
  params.sigma = 5;
  const NoiseModel asked = asked_noise(params, measured);
  EXPECT_EQ(asked.stack.strengths.count, 0);
  EXPECT_EQ(asked.sigma[0][0], 5);
  EXPECT_NEAR(asked.stack.between.sigma[0][0], 6 * std::sqrt(4.25 / 2), 1e-4);
}

// An empty layer, or one of writing, says nothing, and the others keep their places.
TEST(LayerStrengths, AreFoundBesideALayerThatShowsNothing) {
  constexpr PixelFormat kVisible{Component::kU8, 4};
  for (const std::vector<float>& sigma :
       {std::vector<float>{kEmpty, 20, 20, 3, 20}, std::vector<float>{20, 20, kEmpty, 20, 3}}) {
    const NoiseModel noise = noise_of(sigma, true, kVisible);
    const auto count = static_cast<int32_t>(sigma.size());
    ASSERT_EQ(noise.stack.strengths.count, count);
    for (int32_t z = 0; z < count; ++z) {
      if (sigma[z] == kEmpty) continue;
      EXPECT_NEAR(noise_of_layer(noise, z, count).sigma[0][0], sigma[z], 0.1 * sigma[z] + 0.3) << z;
    }
  }
}

// Waves on a chequered ground with noise, of which `shown` shows.
TestImage partly_visible(float sigma, const Rect& shown) {
  constexpr int32_t kWidth = 600, kHeight = 500;
  TestImage image({Component::kFloat, 4}, kWidth, kHeight);
  std::mt19937 generator(5);
  std::normal_distribution<float> noise(0, 1);
  for (int32_t y = 0; y < kHeight; ++y) {
    for (int32_t x = 0; x < kWidth; ++x) {
      const auto wave = static_cast<float>(std::sin(x / 9.0) * std::cos(y / 13.0));
      const auto ground = static_cast<float>(25 * ((x / 17 + y / 23) % 2));
      for (int32_t c = 0; c < 3; ++c) {
        image.set(x, y, c, 128 + 51 * wave + ground + sigma * noise(generator));
      }
      image.set(x, y, 3, shown.contains({x, y, 1, 1}) ? 255.0f : 0.0f);
    }
  }
  return image;
}

// Though it is sure of its noise.
TEST(LayerStrengths, ALayerOfWhichHardlyAPixelShowsMakesNoOtherCalm) {
  const std::vector<TestImage> layers = {
      partly_visible(40, {100, 100, 120, 100}), partly_visible(5, {0, 0, 600, 500}),
      partly_visible(0, {0, 0, 0, 0}), partly_visible(0, {0, 0, 0, 0})};
  std::vector<ConstImage> views;
  for (const TestImage& layer : layers) views.push_back(layer.view());
  ThreadPool pool(2);
  const NoiseModel noise = estimate_volume_noise(views, true, NoiseKind::kSure, pool, {});
  EXPECT_NEAR(noise.sigma[0][0], 5, 0.5);
}

PictureNoise found(float luma, float chroma, Confidence confidence) {
  PictureNoise noise = white_noise(3, luma);
  noise.sigma[0][1] = noise.sigma[0][2] = chroma;
  noise.confidence = confidence;
  return noise;
}

// Texture makes more luma of a calm layer than it holds, and hardly any colour.
TEST(LayerStrengths, ColoursAreThoseOfTheNoisiestLayers) {
  const NoiseModel noise = noise_of_different({found(20, 20, Confidence::kMeasured),
                                               found(20, 20, Confidence::kMeasured),
                                               found(3, 0.7f, Confidence::kUnsure)});
  const NoiseModel noisy = noise_of_layer(noise, 0, 3);
  for (int32_t c = 0; c < 3; ++c) EXPECT_NEAR(noisy.sigma[0][c], 20, 0.3) << c;
  EXPECT_NEAR(noise_of_layer(noise, 2, 3).sigma[0][0], 3, 1e-3);
}

TEST(LayerStrengths, MotionHidesInTheNoisiestLayersNoise) {
  NoiseModel noise = white_noise(3, 2);
  EXPECT_FALSE(follows_motion(noise));
  noise.stack.strengths = {3, {5, 5, 0.5f}};
  EXPECT_TRUE(follows_motion(noise));
  noise.stack.strengths = {3, {1.2f, 1.2f, 0.9f}};
  EXPECT_FALSE(follows_motion(noise));
}

// Layers of which only the first ones are sure of their noise.
CalmLayers layers_with(const std::vector<TestImage>& layers, const std::vector<float>& sigma,
                       size_t sure) {
  ThreadPool pool(2);
  std::vector<PictureNoise> models;
  std::vector<Sample> samples;
  for (size_t z = 0; z < layers.size(); ++z) {
    models.push_back(
        found(sigma[z], sigma[z], z < sure ? Confidence::kMeasured : Confidence::kUnsure));
    samples.push_back(take_sample(layers[z].view(), pool, {}));
  }
  return CalmLayers(models, samples, pool);
}

// Which of them are calm, a bit each.
uint32_t calm_of(const std::vector<TestImage>& layers, const std::vector<float>& sigma,
                 size_t sure) {
  return layers_with(layers, sigma, sure).bits(0.35);
}

TEST(CalmLayers, WhatLayersDifferByLeavesNoRoomForMoreNoise) {
  const std::vector<TestImage> layers = layers_of({12, 12, 12, 1}, {Component::kFloat, 3});
  EXPECT_EQ(calm_of(layers, {12, 12, 12, 1}, 4), 8u) << "sure of it";
  EXPECT_EQ(calm_of(layers, {12, 12, 12, 8}, 3), 8u) << "not sure";
  EXPECT_EQ(calm_of(layers, {12, 12, 12, 8}, 1), 8u) << "one sure layer is enough";
  EXPECT_EQ(calm_of(layers, {12, 12, 12, 8}, 0), 0u) << "none is sure";
}

TEST(CalmLayers, AsNoisyOnesAndCopiesAreNone) {
  std::vector<TestImage> layers = layers_of({12, 12, 12, 12}, {Component::kFloat, 3});
  EXPECT_EQ(calm_of(layers, {12, 12, 12, 2}, 3), 0u);
  layers[3] = layers[0];
  EXPECT_EQ(calm_of(layers, {12, 12, 12, 2}, 3), 0u);
}

TEST(CalmLayers, OfStillOnesTheOthersTellWithoutASureOne) {
  const auto calm = [](const std::vector<TestImage>& layers) {
    return layers_with(layers, {1, 1, 1, 1, 1, 1}, 0).bits_by_others(0.35);
  };
  constexpr PixelFormat kExact{Component::kFloat, 3};
  EXPECT_EQ(calm(layers_of({0, 12, 12, 12, 12}, kExact)), 1u);
  EXPECT_EQ(calm(layers_of({12, 12, 12, 12, 3}, kExact)), 16u);
  std::vector<TestImage> layers = layers_of({12, 12, 12, 12, 12, 12}, kExact);
  EXPECT_EQ(calm(layers), 0u);
  TestImage between = layers[2];  // as a program puts a frame between two
  for (int32_t y = 0; y < between.height; ++y) {
    for (int32_t x = 0; x < between.width; ++x) {
      for (int32_t c = 0; c < 3; ++c) {
        between.set(x, y, c, 0.5f * (layers[1].get(x, y, c) + layers[3].get(x, y, c)));
      }
    }
  }
  layers[2] = between;
  layers[5] = layers[0];
  EXPECT_EQ(calm(layers), 0u) << "one between two others, and a copy";
}

}  // namespace
}  // namespace grainless
