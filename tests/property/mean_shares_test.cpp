// SPDX-License-Identifier: MIT
// What a picture filter takes out of the mean of still layers, and what of it is led back.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/denoise.h"
#include "engine/params/params.h"
#include "engine/plan/stack_plan.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

constexpr PixelFormat kColour{Component::kFloat, 3};
constexpr int32_t kSide = 200;

// `grain` pixels a side share what is random: 1 is white, more is as a camera smoothes it.
void add_noise(TestImage& image, float sigma, int32_t grain, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, sigma / static_cast<float>(grain));
  const int32_t width = image.width + grain, height = image.height + grain;
  const int32_t channels = image.format.channels;
  std::vector<float> values(static_cast<size_t>(width) * height * channels);
  for (float& value : values) value = normal(random);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      for (int32_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (int32_t i = 0; i < grain * grain; ++i) {
          const int32_t place = (y + i / grain) * width + x + i % grain;
          sum += values[static_cast<size_t>(place) * channels + c];
        }
        image.set(x, y, c, image.get(x, y, c) + sum);
      }
    }
  }
}

TestImage flat(PixelFormat format) {
  TestImage image(format, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      for (int32_t c = 0; c < format.channels; ++c) image.set(x, y, c, 120);
    }
  }
  return image;
}

// As irregular as noise, and a part of the scene.
TestImage gravel(float sigma, int32_t grain) {
  TestImage image = flat(kColour);
  add_noise(image, sigma, grain, 1);
  return image;
}

std::vector<TestImage> burst(const TestImage& scene, int32_t count, int32_t grain) {
  std::vector<TestImage> layers(static_cast<size_t>(count), scene);
  for (size_t z = 0; z < layers.size(); ++z) {
    add_noise(layers[z], 6, grain, static_cast<uint32_t>(z + 2));
  }
  return layers;
}

std::vector<ConstImage> views(const std::vector<TestImage>& layers) {
  std::vector<ConstImage> views;
  for (const TestImage& layer : layers) views.push_back(layer.view());
  return views;
}

Params automatic(Method method) {
  Params params;
  params.method = static_cast<int32_t>(method);
  params.quality = static_cast<int32_t>(Quality::kFast);
  return params;
}

NoiseModel measured(const std::vector<TestImage>& layers) {
  Engine engine({"", 2});
  NoiseModel noise;
  EXPECT_TRUE(engine.volume_noise(automatic(Method::kNlm), views(layers), {}, noise, nullptr).ok());
  return noise;
}

double psnr_of_stack(Method method, const std::vector<TestImage>& layers, const TestImage& truth) {
  Engine engine({"", 2});
  std::vector<TestImage> results = layers;
  std::vector<MutableImage> targets;
  for (TestImage& result : results) targets.push_back(result.target());
  Report report;
  EXPECT_TRUE(engine.denoise_volume(automatic(method), 7, views(layers), targets, {}, report).ok());
  return test::psnr(results[2], truth);
}

double psnr_of_mean(const std::vector<TestImage>& layers, const TestImage& truth) {
  TestImage mean = truth;
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      for (int32_t c = 0; c < 3; ++c) {
        float sum = 0;
        for (const TestImage& layer : layers) sum += layer.get(x, y, c);
        mean.set(x, y, c, sum / static_cast<float>(layers.size()));
      }
    }
  }
  return test::psnr(mean, truth);
}

TEST(MeanShares, WhatNonLocalMeansTakesOutOfTextureIsNotNoise) {
  const NoiseModel noise = measured(burst(gravel(8, 2), 6, 2));
  ASSERT_TRUE(noise.stack.between.known);
  const MeanShares& means = noise.stack.means[static_cast<int32_t>(Method::kNlm)];
  EXPECT_EQ(means.layers, 6);
  for (int32_t c = 0; c < 3; ++c) {
    EXPECT_LT(means.of_one[c], 0.8) << c;
    EXPECT_LT(means.of_two[c], means.of_one[c]) << c;
    EXPECT_LT(means.of_all[c], 0.4) << c;
  }
}

TEST(MeanShares, WhatIsTakenOutOfPlainAreasIsNoise) {
  const NoiseModel noise = measured(burst(flat(kColour), 6, 1));
  for (const MeanShares& means : noise.stack.means) {
    EXPECT_EQ(means.layers, 6);
    for (int32_t c = 0; c < 3; ++c) {
      EXPECT_GT(means.of_one[c], 0.9) << c;
      EXPECT_GT(means.of_all[c], 0.9) << c;
    }
  }
}

// Each one twice: halves show the same noise.
TEST(MeanShares, AreNotToldByLayersThatRepeatOthers) {
  std::vector<TestImage> layers = burst(gravel(8, 2), 6, 2);
  for (size_t z = 1; z < layers.size(); z += 2) layers[z] = layers[z - 1];
  for (const MeanShares& means : measured(layers).stack.means) EXPECT_EQ(means.layers, 0);
}

TEST(MeanShares, ABurstOfTextureIsNoWorseThanItsPlainMean) {
  const TestImage truth = gravel(5, 2);
  for (const int32_t count : {3, 6}) {
    const std::vector<TestImage> layers = burst(truth, count, 2);
    const double plain = psnr_of_mean(layers, truth);
    for (const Method method : {Method::kBm3d, Method::kNlm}) {
      EXPECT_GT(psnr_of_stack(method, layers, truth), plain - 0.05)
          << count << " layers, method " << static_cast<int>(method);
    }
  }
}

TEST(MeanShares, LieBetweenThoseThatWereMeasured) {
  NoiseModel noise = white_noise(3, 5);
  noise.stack.means[1] = {8, {0.8f, 1, 1}, {0.6f, 1, 1}, {0.2f, 1, 1}};
  const StackPlan stack = make_stack_plan(automatic(Method::kNlm), 7, 3, noise);
  EXPECT_FLOAT_EQ(share_of_noise(stack, 1, 0), 0.8f);
  EXPECT_FLOAT_EQ(share_of_noise(stack, std::sqrt(2.0), 0), 0.7f);
  EXPECT_FLOAT_EQ(share_of_noise(stack, 2, 0), 0.6f);
  EXPECT_FLOAT_EQ(share_of_noise(stack, 4, 0), 0.4f);
  EXPECT_FLOAT_EQ(share_of_noise(stack, 8, 0), 0.2f);
  EXPECT_FLOAT_EQ(share_of_noise(stack, 15, 0), 0.2f);
  EXPECT_EQ(share_of_noise(stack, 4, 1), 1.0f);
  const StackPlan other = make_stack_plan(automatic(Method::kBm3d), 7, 3, noise);
  EXPECT_EQ(share_of_noise(other, 4, 0), 1.0f);
}

TEST(StackWays, NonLocalMeansAveragesWhatACameraShows) {
  const Params params = automatic(Method::kNlm);
  const auto fuses = [&](auto change) {
    NoiseModel noise = white_noise(3, 5);
    Params own = params;
    change(own, noise);
    return fuses_stack(own, noise);
  };
  EXPECT_TRUE(fuses([](Params&, NoiseModel&) {}));
  EXPECT_FALSE(fuses([](Params& own, NoiseModel&) { own.auto_sigma = false; }));
  EXPECT_FALSE(fuses([](Params&, NoiseModel& noise) { noise = white_noise(1, 5); }));
  for (const Confidence unsure :
       {Confidence::kLittle, Confidence::kUnsure, Confidence::kTooSmall}) {
    EXPECT_FALSE(fuses([&](Params&, NoiseModel& noise) { noise.confidence = unsure; }));
  }
  EXPECT_TRUE(fuses([](Params&, NoiseModel& noise) {
    noise = white_noise(1, 5);
    noise.stack.between.known = true;
  }));
  EXPECT_TRUE(fuses([](Params& own, NoiseModel&) {
    own.method = static_cast<int32_t>(Method::kBm3d);
    own.auto_sigma = false;
  }));
}

}  // namespace
}  // namespace grainless
