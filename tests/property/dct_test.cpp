// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "engine/cpu/dct/dct.h"
#include "engine/noise/model.h"
#include "engine/plan/make_plan.h"
#include "tests/support/reference_dct.h"

namespace grainless {
namespace {

constexpr float kSigma = 20;

Params dct_params(Quality quality, int32_t patch = 0) {
  Params params;
  params.method = static_cast<int32_t>(Method::kDct);
  params.quality = static_cast<int32_t>(quality);
  params.patch = patch;
  return params;
}

LevelPlan level_of(const Params& params, int32_t channels, float sigma = kSigma) {
  const PixelFormat format{Component::kFloat, channels};
  return make_plan(params, format, white_noise(channels, sigma)).level[0];
}

// Slopes, edges and noise.
Planes picture(int32_t channels, int32_t width, int32_t height, float sigma = kSigma) {
  std::mt19937 random(7);
  std::normal_distribution<float> noise;
  Planes image(channels, {0, 0, width, height});
  for (int32_t c = 0; c < channels; ++c) {
    for (int32_t i = 0; i < width * height; ++i) {
      const int32_t x = i % width, y = i / width;
      const float edge = (x / 17 + y / 13) % 2 == 0 ? 0.0f : 70.0f;
      const float clean =
          90.0f + 0.5f * static_cast<float>(x % 16) - static_cast<float>(c) * 60.0f + edge;
      *image.at(c, x, y) = clean + sigma * noise(random);
    }
  }
  return image;
}

Planes filtered(const LevelPlan& level, const Planes& image, const Rect& rect, int32_t threads) {
  ThreadPool pool(threads);
  const Callbacks callbacks;
  Planes result(image.channels(), rect);
  run_dct({&level, image.rect().width, image.rect().height, &image, &result, &pool, &callbacks});
  return result;
}

Planes filtered(const LevelPlan& level, const Planes& image) {
  return filtered(level, image, image.rect(), 1);
}

// The root of the mean square, and the largest; NaN where there is any.
std::pair<double, double> difference(const Planes& a, const Planes& b) {
  double sum = 0, worst = 0;
  for (int32_t c = 0; c < a.channels(); ++c) {
    for (int32_t y = 0; y < a.rect().height; ++y) {
      for (int32_t x = 0; x < a.rect().width; ++x) {
        const double d = std::abs(double{*a.at(c, x, y)} - *b.at(c, x, y));
        sum += d * d;
        worst = d <= worst ? worst : d;
      }
    }
  }
  return {std::sqrt(sum / (static_cast<double>(a.rect().area()) * a.channels())), worst};
}

bool same_bits(const Planes& part, const Planes& whole) {
  const Rect& rect = part.rect();
  for (int32_t c = 0; c < part.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      const size_t bytes = sizeof(float) * rect.width;
      if (std::memcmp(part.at(c, rect.x, y), whole.at(c, rect.x, y), bytes) != 0) return false;
    }
  }
  return true;
}

// Float against double sums. A coefficient that one keeps and the other does not would differ by
// more.
constexpr double kTwinTolerance = 2e-3;

TEST(Dct, AgreesWithTheTwinForAllPatchesAndSteps) {
  for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
    for (const Quality quality : {Quality::kFast, Quality::kNormal}) {
      const LevelPlan level = level_of(dct_params(quality, patch), 1);
      const Planes image = picture(1, 45, 31);
      const Planes result = filtered(level, image);
      const Planes twin = test::reference_dct(level.dct, image);
      EXPECT_LT(difference(result, twin).second, kTwinTolerance) << patch;
      EXPECT_GT(difference(result, image).first, 2) << patch;
    }
  }
}

TEST(Dct, AgreesWithTheTwinForSmallAndOddSizesAndInColour) {
  for (const Quality quality : {Quality::kFast, Quality::kNormal}) {
    for (const Rect& size : {Rect{0, 0, 1, 1}, Rect{0, 0, 2, 3}, Rect{0, 0, 29, 1},
                             Rect{0, 0, 1, 29}, Rect{0, 0, 67, 23}}) {
      Params params = dct_params(quality);
      params.chroma = 160;
      const LevelPlan level = level_of(params, 3);
      const Planes image = picture(3, size.width, size.height);
      const Planes twin = test::reference_dct(level.dct, image);
      EXPECT_LT(difference(filtered(level, image), twin).second, kTwinTolerance)
          << size.width << " x " << size.height;
    }
  }
}

TEST(Dct, AnyRectangleAndThreadsGiveTheBitsOfTheWhole) {
  for (const Quality quality : {Quality::kFast, Quality::kNormal}) {
    const LevelPlan level = level_of(dct_params(quality), 3);
    const Planes image = picture(3, 301, 133);
    const Planes whole = filtered(level, image);
    for (const Rect& rect : {image.rect(), Rect{0, 0, 1, 1}, Rect{300, 132, 1, 1},
                             Rect{13, 1, 270, 70}, Rect{5, 64, 17, 69}, Rect{255, 63, 46, 3}}) {
      EXPECT_TRUE(same_bits(filtered(level, image, rect, 3), whole)) << rect.x << ' ' << rect.y;
    }
  }
}

TEST(Dct, InstructionSetsDoNotMatter) {
  for (const int32_t patch : {8, 5}) {
    const LevelPlan level = level_of(dct_params(Quality::kFast, patch), 3);
    const Planes image = picture(3, 61, 47);
    const Planes best = filtered(level, image);
    int32_t tried = 0;
    for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
      const int64_t target = rest & -rest;
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      EXPECT_TRUE(same_bits(filtered(level, image), best)) << hwy::TargetName(target);
      hwy::SetSupportedTargetsForTest(0);
      ++tried;
    }
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    EXPECT_GE(tried, 1);
  }
}

TEST(Dct, AConstantStaysBitForBit) {
  for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
    const LevelPlan level = level_of(dct_params(Quality::kNormal, patch), 3);
    Planes image(3, {0, 0, 40, 30});
    for (int32_t c = 0; c < 3; ++c) {
      const float value = 33.37f * static_cast<float>(c + 1);
      for (int32_t y = 0; y < 30; ++y) std::fill_n(image.at(c, 0, y), 40, value);
    }
    EXPECT_TRUE(same_bits(filtered(level, image), image)) << patch;
  }
}

TEST(Dct, AChannelWithoutStrengthIsCopied) {
  Params params = dct_params(Quality::kNormal);
  params.luma = 0;
  const LevelPlan level = level_of(params, 3);
  const Planes image = picture(3, 70, 50), result = filtered(level, image);
  for (int32_t y = 0; y < 50; ++y) {
    EXPECT_EQ(std::memcmp(result.at(0, 0, y), image.at(0, 0, y), 70 * sizeof(float)), 0);
    EXPECT_NE(std::memcmp(result.at(1, 0, y), image.at(1, 0, y), 70 * sizeof(float)), 0);
  }
}

TEST(Dct, HighlightsBeyondAllMeasureStayFinite) {
  const LevelPlan level = level_of(dct_params(Quality::kNormal), 1);
  Planes image = picture(1, 60, 40);
  for (int32_t x = 20; x < 40; ++x) *image.at(0, x, 20) = x % 2 == 0 ? 3e38f : -3e38f;
  const Planes result = filtered(level, image);
  for (int32_t y = 0; y < 40; ++y) {
    for (int32_t x = 0; x < 60; ++x) ASSERT_TRUE(std::isfinite(*result.at(0, x, y)));
  }
}

TEST(Dct, RemovesNoise) {
  for (const Quality quality : {Quality::kFast, Quality::kNormal}) {
    const Planes clean = picture(3, 128, 128, 0), noisy = picture(3, 128, 128);
    const Planes result = filtered(level_of(dct_params(quality), 3), noisy);
    EXPECT_LT(difference(result, clean).first, 0.5 * kSigma);
  }
}

TEST(Dct, MemoryIsBounded) {
  const LevelPlan level = level_of(dct_params(Quality::kNormal, 16), 3);
  const uint64_t estimate = Planes::bytes(3, 6000, 4000);
  EXPECT_LE(dct_bytes(level, {3, 6000, 4000}, 2), estimate + (uint64_t{10} << 20));
}

}  // namespace
}  // namespace grainless
