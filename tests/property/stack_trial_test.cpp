// SPDX-License-Identifier: MIT
// How Non-Local Means takes stacks whose layers don't stand still, and what layers that show no
// noise say of the others'.
#include "engine/stack_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "engine/denoise.h"
#include "engine/noise/exposures.h"
#include "engine/params/params.h"
#include "engine/plan/stack_plan.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

constexpr int32_t kSide = 160;
constexpr float kSigma = 10;

// Soft blobs and a few edges, one of many for each seed; `moved` pixels to the left, or each
// another way.
TestImage scene(int32_t channels, uint32_t seed, double moved = 0, bool scattered = false) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  struct Blob {
    double x, y, radius, height;
  };
  std::vector<Blob> blobs;
  for (int32_t i = 0; i < 40; ++i) {
    blobs.push_back({1.5 * kSide * uniform(random), kSide * uniform(random),
                     4 + 14 * uniform(random), 120 * uniform(random) - 60});
  }
  TestImage image({Component::kFloat, channels}, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      double value = 120;
      for (const Blob& blob : blobs) {
        const double turn = scattered ? blob.height : 0;
        const double apart =
            std::hypot(x + moved * std::cos(turn) - blob.x, y + moved * std::sin(turn) - blob.y) /
            blob.radius;
        if (apart < 1) value += blob.height * (blob.radius > 11 ? 1 : 1 - apart * apart);
      }
      for (int32_t c = 0; c < channels; ++c) {
        image.set(x, y, c, static_cast<float>(value - 10 * c));
      }
    }
  }
  return image;
}

TestImage noisy(TestImage image, uint32_t seed, float sigma = kSigma) {
  std::mt19937 random(1000 + seed);
  std::normal_distribution<float> normal(0, sigma);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      for (int32_t c = 0; c < image.format.channels; ++c) {
        image.set(x, y, c, image.get(x, y, c) + normal(random));
      }
    }
  }
  return image;
}

struct Stack {
  std::vector<TestImage> clean, noisy;

  void add(const TestImage& layer, float sigma = kSigma) {
    noisy.push_back(grainless::noisy(layer, static_cast<uint32_t>(noisy.size()), sigma));
    clean.push_back(layer);
  }
  std::vector<ConstImage> views() const {
    std::vector<ConstImage> views;
    for (const TestImage& layer : noisy) views.push_back(layer.view());
    return views;
  }
};

Stack slides(int32_t channels, int32_t count) {
  Stack stack;
  for (int32_t z = 0; z < count; ++z) stack.add(scene(channels, static_cast<uint32_t>(z + 1)));
  return stack;
}

Stack pan(int32_t channels, int32_t count) {
  Stack stack;
  for (int32_t z = 0; z < count; ++z) stack.add(scene(channels, 1, z));
  return stack;
}

// What moves in many ways is found by a search in three dimensions, and by no mean.
Stack scattered(int32_t channels, int32_t count) {
  Stack stack;
  for (int32_t z = 0; z < count; ++z) stack.add(scene(channels, 1, 2 * z, true));
  return stack;
}

Params automatic() {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  return params;
}

Engine& engine() {
  static Engine shared({"", 2});
  return shared;
}

NoiseModel measured(const Stack& stack) {
  NoiseModel noise;
  EXPECT_TRUE(engine().volume_noise(automatic(), stack.views(), {}, noise, nullptr).ok());
  return noise;
}

// Means over the layers, in dB.
double psnr_of(const Stack& stack, const NoiseModel& noise, const Params& params = automatic()) {
  std::vector<TestImage> results = stack.noisy;
  std::vector<MutableImage> targets;
  for (TestImage& result : results) targets.push_back(result.target());
  const auto count = static_cast<int32_t>(results.size());
  Report report;
  EXPECT_TRUE(engine()
                  .denoise_volume_part(params, std::min(3, count - 1), noise,
                                       {{count, 0, stack.views()}, {count, 0, targets}}, {}, report)
                  .ok());
  double sum = 0;
  for (size_t z = 0; z < results.size(); ++z) sum += test::psnr(results[z], stack.clean[z]);
  return sum / count;
}

double psnr_by(const Stack& stack, NoiseModel noise, NlmWay way) {
  noise.stack.nlm_way = way;
  noise.lone = nullptr;
  return psnr_of(stack, noise);
}

double psnr_alone(const Stack& stack) {
  double sum = 0;
  for (size_t z = 0; z < stack.noisy.size(); ++z) {
    TestImage result = stack.noisy[z];
    NoiseModel noise;
    Report report;
    const ConstImage layer = stack.noisy[z].view();
    EXPECT_TRUE(engine().noise_for(automatic(), layer, {}, noise, nullptr).ok());
    EXPECT_TRUE(engine().denoise(automatic(), noise, layer, result.target(), {}, report).ok());
    sum += test::psnr(result, stack.clean[z]);
  }
  return sum / static_cast<double>(stack.noisy.size());
}

TEST(StackTrial, DifferentPicturesAreNotSearchedTogether) {
  for (const int32_t channels : {1, 3}) {
    const Stack stack = slides(channels, 4);
    const NoiseModel noise = measured(stack);
    EXPECT_EQ(noise.stack.nlm_way, NlmWay::kAverage) << channels;
    EXPECT_GT(psnr_of(stack, noise), psnr_alone(stack) - 0.1) << channels;
    EXPECT_LT(psnr_by(stack, noise, NlmWay::kSearch), psnr_alone(stack) - 0.3) << channels;
  }
}

// Of the ways that a method can take a stack: the best one's.
double best_psnr(const Stack& stack, NoiseModel noise, const Params& params) {
  double best = 0;
  for (const bool apart : {false, true}) {
    for (const bool unfollowed : {false, true}) {
      for (const NlmWay way : {NlmWay::kAverage, NlmWay::kSearch}) {
        std::fill_n(noise.stack.apart, kStackMethods, apart);
        std::fill_n(noise.stack.unfollowed, kStackMethods, unfollowed);
        noise.stack.nlm_way = way;
        best = std::max(best, psnr_of(stack, noise, params));
      }
    }
  }
  return best;
}

TEST(StackTrial, WhatMovesIsSearchedWhereThatIsBetter) {
  const Stack grey = scattered(1, 5);
  const NoiseModel noise = measured(grey);
  ASSERT_FALSE(noise.stack.between.known);
  EXPECT_EQ(noise.stack.nlm_way, NlmWay::kSearch);
  EXPECT_GT(psnr_of(grey, noise), psnr_by(grey, noise, NlmWay::kAverage) + 0.2);
  const Stack colour = scattered(3, 5);
  EXPECT_GT(psnr_of(colour, measured(colour)),
            best_psnr(colour, measured(colour), automatic()) - 0.15);
}

TEST(StackTrial, WhatMovesTogetherIsFollowed) {
  for (const int32_t channels : {1, 3}) {
    const Stack stack = pan(channels, 5);
    const NoiseModel noise = measured(stack);
    NoiseModel unfollowed = noise;
    std::fill_n(unfollowed.stack.unfollowed, kStackMethods, true);
    ASSERT_FALSE(noise.stack.between.known);
    EXPECT_EQ(noise.stack.nlm_way, NlmWay::kAverage) << channels;
    EXPECT_FALSE(noise.stack.unfollowed[static_cast<int32_t>(Method::kNlm)]);
    EXPECT_GT(psnr_of(stack, noise), psnr_by(stack, noise, NlmWay::kSearch) + 0.2) << channels;
    EXPECT_GT(psnr_of(stack, noise), psnr_of(stack, unfollowed) + 1) << channels;
  }
}

// Smooth rods on an even ground; `moved` pixels to the left, or every other part of
// them to the right.
TestImage rods(double moved, bool against = false) {
  TestImage image({Component::kFloat, 3}, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      const double there = against && y / 8 % 2 != 0 ? -moved : moved;
      const double apart = std::remainder(x + there + 0.3 * y, 31.0) / 3;
      const auto value = static_cast<float>(90 + 110 * std::exp(-apart * apart));
      for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, value);
    }
  }
  return image;
}

// Parts of a pixel under so much noise that edges differ by little more.
Stack shaken_rods(bool against) {
  Stack stack;
  for (const double moved : {0.0, 0.9, -0.8, 0.5, -1.1, 0.2, 1.0, -0.4}) {
    stack.add(rods(moved, against), 30);
  }
  return stack;
}

TEST(StackTrial, WhatNoiseHidesIsNotAveragedWhereThatBlurs) {
  for (const Method method : {Method::kBm3d, Method::kNlm}) {
    for (const bool against : {false, true}) {
      const Stack stack = shaken_rods(against);
      Params params = automatic();
      params.method = static_cast<int32_t>(method);
      const NoiseModel noise = measured(stack);
      NoiseModel blurred = noise;
      std::fill_n(blurred.stack.apart, kStackMethods, false);
      std::fill_n(blurred.stack.unfollowed, kStackMethods, true);
      blurred.stack.nlm_way = NlmWay::kAverage;
      const double found = psnr_of(stack, noise, params);
      EXPECT_GT(found, psnr_of(stack, blurred, params) + (against ? 0.3 : 1.0)) << against;
      EXPECT_GT(found, best_psnr(stack, noise, params) - 0.15) << against;
    }
  }
}

// Two layers of one tile each, and as many layers as are measured.
TEST(StackTrial, SmallAndLargeStacksAreTried) {
  Stack two;
  two.add(scene(1, 1));
  two.add(scene(1, 2));
  EXPECT_NE(measured(two).stack.nlm_way, NlmWay::kUntold);
  EXPECT_NE(measured(slides(1, 31)).stack.nlm_way, NlmWay::kUntold);
  EXPECT_EQ(measured(slides(1, 32)).stack.nlm_way, NlmWay::kUntold);  // some layers may be missing
}

TEST(StackTrial, NothingIsTriedWhereNoiseIsNotKnown) {
  const Stack stack = slides(3, 3);
  ThreadPool pool(1);
  const auto way_of = [&](const std::vector<ConstImage>& layers, auto change) {
    NoiseModel noise = white_noise(3, kSigma);
    change(noise);
    int32_t runs = 0;
    try_ways(
        layers, true, pool, {},
        [&](const Params&, int32_t, const NoiseModel&, const VolumePixels&, const Callbacks&) {
          ++runs;
        },
        noise);
    EXPECT_EQ(runs > 0, noise.stack.nlm_way != NlmWay::kUntold);
    return noise.stack.nlm_way;
  };
  const std::vector<ConstImage> layers = stack.views();
  const NlmWay untold = NlmWay::kUntold;
  EXPECT_NE(way_of(layers, [](NoiseModel&) {}), untold);
  EXPECT_EQ(way_of({layers[0]}, [](NoiseModel&) {}), untold);
  EXPECT_EQ(way_of(layers, [](NoiseModel& noise) { noise.white[1] = false; }), untold);
  EXPECT_EQ(way_of(layers, [](NoiseModel& noise) { noise.stack.unevenness = 1.2f; }), untold);
  EXPECT_EQ(way_of(layers, [](NoiseModel& noise) { noise.stack.alone.known = true; }), untold);
  EXPECT_EQ(way_of(layers, [](NoiseModel& noise) { noise.stack.between.known = true; }), untold);
  EXPECT_EQ(way_of(layers, [](NoiseModel& noise) { noise.toned = true; }), untold);
  for (const Confidence other : {Confidence::kLittle, Confidence::kUnsure, Confidence::kTooSmall}) {
    EXPECT_EQ(way_of(layers, [&](NoiseModel& noise) { noise.confidence = other; }), untold);
  }
}

// What is left of it in both pictures would make each layer alone seem nearest.
TEST(StackTrial, CoarseNoiseTakesNoLayersApart) {
  const Stack stack = slides(3, 3);
  ThreadPool pool(1);
  for (const float left : {0.5f, 0.8f}) {
    NoiseModel noise = white_noise(3, kSigma);
    noise.levels = 2;
    std::fill_n(noise.sigma[1], 3, left * kSigma);
    int32_t runs = 0;
    try_ways(
        stack.views(), true, pool, {},
        [&](const Params&, int32_t, const NoiseModel&, const VolumePixels& pixels,
            const Callbacks&) {
          const MutableImage& target = pixels.target.layers.front();
          const int32_t off = pixels.source.count == 1 ? 0 : 30;  // steps from the layer
          for (int32_t y = 0; y < target.height; ++y) {
            for (int32_t x = 0; x < target.width; ++x) {
              const auto* from = static_cast<const float*>(
                  pixel_at(pixels.source.layers[pixels.target.first], x, y));
              auto* to = static_cast<float*>(pixel_at(target, x, y));
              for (int32_t c = 0; c < 3; ++c) to[c] = from[c] + static_cast<float>(off) / 255;
            }
          }
          ++runs;
        },
        noise);
    EXPECT_GT(runs, 0);
    EXPECT_EQ(noise.stack.apart[0], left == 0.5f);
    EXPECT_EQ(noise.stack.apart[1], left == 0.5f);
  }
}

TEST(StackTrial, NonLocalMeansGoesTheWayThatWasFound) {
  const Params params = automatic();
  for (const int32_t channels : {1, 3}) {
    NoiseModel noise = white_noise(channels, kSigma);
    noise.stack.nlm_way = NlmWay::kAverage;
    EXPECT_TRUE(fuses_stack(params, noise));
    noise.stack.nlm_way = NlmWay::kSearch;
    EXPECT_FALSE(fuses_stack(params, noise));
    noise.stack.between.known = true;
    EXPECT_TRUE(fuses_stack(params, noise));
  }
}

TEST(StackTrial, ThreadsDoNotMatter) {
  const Stack stack = pan(3, 4);
  const auto way = [&](int32_t threads) {
    NoiseModel noise;
    Engine own({"", threads});
    EXPECT_TRUE(own.volume_noise(automatic(), stack.views(), {}, noise, nullptr).ok());
    return noise.stack.nlm_way;
  };
  EXPECT_EQ(way(1), way(3));
}

TestImage page_of_letters() {
  TestImage page({Component::kU8, 1}, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {  // rings, one in three left out
      const int32_t column = x / 10, row = y / 14;
      const double apart = std::abs(std::hypot(x % 10 - 4.7, y % 14 - 6.6) - 3.4);
      const double ink = (7 * column + 5 * row) % 3 == 0 ? 0 : std::clamp(1.3 - apart, 0.0, 1.0);
      page.set(x, y, 0, static_cast<float>(255 - 235 * ink));
    }
  }
  return page;
}

// Exposures in a row: those that are cut off show no noise.
TEST(BracketedLayers, ThoseThatAreCutOffTellNothingOfTheOthersNoise) {
  for (const int32_t channels : {1, 3}) {
    Stack stack;
    const TestImage clean = scene(channels, 3);
    for (const float gain : {0.5f, 0.8f, 1.1f, 4.0f, 5.0f}) {
      TestImage brighter = clean, layer({Component::kU8, channels}, kSide, kSide);
      const auto each = [&](const auto& body) {
        for (int32_t i = 0; i < kSide * kSide * channels; ++i) {
          body(i / channels % kSide, i / channels / kSide, i % channels);
        }
      };
      each([&](int32_t x, int32_t y, int32_t c) {
        brighter.set(x, y, c, gain * clean.get(x, y, c));
      });
      const TestImage with = noisy(brighter, static_cast<uint32_t>(10 * gain));
      each([&](int32_t x, int32_t y, int32_t c) { layer.set(x, y, c, with.get(x, y, c)); });
      stack.noisy.push_back(layer);
    }
    const NoiseModel noise = measured(stack);
    EXPECT_EQ(noise.confidence, Confidence::kMeasured) << channels;
    for (int32_t c = 0; c < channels; ++c) {
      EXPECT_NEAR(noise.sigma[0][c], kSigma, 0.2 * kSigma) << channels << " channels, " << c;
    }
  }
}

// A page of letters among photographs is none of theirs.
TEST(BracketedLayers, WhatShowsAnotherSceneSpeaksForItself) {
  Stack stack = slides(1, 3);
  for (TestImage& layer : stack.noisy) {
    TestImage bytes({Component::kU8, 1}, kSide, kSide);
    for (int32_t i = 0; i < kSide * kSide; ++i) {
      bytes.set(i % kSide, i / kSide, 0, layer.get(i % kSide, i / kSide, 0));
    }
    layer = bytes;
  }
  const TestImage page = page_of_letters();
  Stack same = stack;
  same.noisy.push_back(stack.noisy[1]);
  stack.noisy.push_back(page);
  EXPECT_LT(measured(stack).sigma[0][0], 0.85f * measured(same).sigma[0][0]);
}

TEST(BracketedLayers, ASceneIsKnownAgain) {
  ThreadPool pool(1);
  const auto same = [&](const TestImage& a, const TestImage& b) {
    return may_show_same_scene(take_sample(a.view(), pool, {}), take_sample(b.view(), pool, {}));
  };
  const TestImage one = noisy(scene(1, 1), 1);
  const auto exposed = [&](float gain, float offset) {
    TestImage image({Component::kU8, 1}, kSide, kSide);
    for (int32_t i = 0; i < kSide * kSide; ++i) {
      const int32_t x = i % kSide, y = i / kSide;
      image.set(x, y, 0, gain * one.get(x, y, 0) + offset);
    }
    return image;
  };
  EXPECT_TRUE(same(one, exposed(0.5f, 0)));
  EXPECT_TRUE(same(one, exposed(2, 60)));
  EXPECT_TRUE(same(one, exposed(3, 40)));    // next to nothing is left
  EXPECT_TRUE(same(one, exposed(2, -280)));  // nor of this
  EXPECT_TRUE(same(one, exposed(9, 255)));   // all is white
  TestImage stained = exposed(0.5f, 60);     // its black tells nothing of the other's
  for (int32_t i = 0; i < 8 * 8; ++i) stained.set(40 + i % 8, 40 + i / 8, 0, 0);
  EXPECT_TRUE(same(one, stained));
  EXPECT_FALSE(same(one, exposed(-1, 255)));
  EXPECT_FALSE(same(one, page_of_letters()));
  EXPECT_FALSE(same(one, noisy(scene(1, 2), 2)));
}

PictureNoise told(Confidence confidence, float sigma) {
  PictureNoise noise;
  noise.channels = 1;
  noise.confidence = confidence;
  noise.sigma[0][0] = sigma;
  return noise;
}

// Only where most of those that can tell surely do, and of the same scene.
TEST(BracketedLayers, TheMuteAreLeftOutOfWhatIsSurelyTold) {
  ThreadPool pool(1);
  const TestImage one = noisy(scene(1, 1), 1);
  const PictureNoise sure = told(Confidence::kMeasured, kSigma);
  const PictureNoise unsure = told(Confidence::kUnsure, kSigma);
  const PictureNoise mute = told(Confidence::kTooSmall, 0);
  const auto left = [&](const std::vector<PictureNoise>& models, const TestImage& last) {
    std::vector<PictureNoise> found = models;
    std::vector<Sample> samples(found.size(), take_sample(one.view(), pool, {}));
    samples.back() = take_sample(last.view(), pool, {});
    leave_out_mute(found, samples);
    EXPECT_EQ(samples.size(), found.size());
    return found.size();
  };
  EXPECT_EQ(left({sure, mute}, one), 1U);
  EXPECT_EQ(left({sure, mute}, page_of_letters()), 2U);
  EXPECT_EQ(left({mute, sure, unsure, sure}, one), 3U);
  EXPECT_EQ(left({sure, unsure, mute}, one), 3U);
  EXPECT_EQ(left({sure, told(Confidence::kTooSmall, 2)}, one), 2U);
}

}  // namespace
}  // namespace grainless
