// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "engine/boundary/pixel_math.h"
#include "engine/cpu/sw_nlm/sw_nlm.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/shapiro_wilk.h"
#include "engine/plan/sw_nlm_plan.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/plane_testing.h"
#include "tests/support/reference_sw_nlm.h"

namespace grainless {
namespace {

using test::difference, test::kSigma, test::level_of, test::same_bits;

Params sw_params(int32_t search, int32_t patch) {
  Params params;
  params.method = static_cast<int32_t>(Method::kSwNlm);
  params.search = search;
  params.patch = patch;
  return params;
}

// Slopes, edges and noise.
Planes test_image(int32_t channels, int32_t width, int32_t height, float sigma = kSigma) {
  std::mt19937 random(7);
  std::normal_distribution<float> noise;
  return test::planes_of(channels, width, height, [&](int32_t c, int32_t x, int32_t y) {
    const float edge = (x / 17 + y / 13) % 2 == 0 ? 0.0f : 70.0f;
    const float clean =
        90.0f + 0.5f * static_cast<float>(x % 16) - static_cast<float>(c) * 60.0f + edge;
    return clean + sigma * noise(random);
  });
}

// 60 x 60 pixels of noise round 100.
Planes flat_noise(float sigma) {
  Planes flat(1, {0, 0, 60, 60});
  std::mt19937 random(3);
  std::normal_distribution<float> noise;
  for (int32_t y = 0; y < 60; ++y) {
    for (int32_t x = 0; x < 60; ++x) *flat.at(0, x, y) = 100 + sigma * noise(random);
  }
  return flat;
}

Planes filtered(const LevelPlan& level, const Planes& image, const Rect& rect, int32_t threads) {
  ThreadPool pool(threads);
  const Callbacks callbacks;
  Planes result(image.channels(), rect);
  run_sw_nlm({&level, image.rect().width, image.rect().height, &image, &result, &pool, &callbacks});
  return result;
}

Planes filtered(const LevelPlan& level, const Planes& image) {
  return filtered(level, image, image.rect(), 1);
}

// Float against double sums. A pair that one accepts and the other does not would differ by more.
constexpr double kTwinTolerance = 2e-3;

struct TwinCase {
  int32_t channels, width, height, search, patch;
  Centre centre;
  double strength, luma, chroma;
};

class SwNlmTwin : public testing::TestWithParam<TwinCase> {};

TEST_P(SwNlmTwin, AgreesWithPlainDouble) {
  const TwinCase& test = GetParam();
  Params params = sw_params(test.search, test.patch);
  params.centre = static_cast<int32_t>(test.centre);
  params.strength = test.strength;
  params.luma = test.luma;
  params.chroma = test.chroma;
  const LevelPlan level = level_of(params, test.channels);
  const Planes image = test_image(test.channels, test.width, test.height);
  const Planes result = filtered(level, image);
  const test::SwNlmTwin twin = test::reference_sw_nlm(level.sw_nlm, image);
  EXPECT_LT(difference(result, twin.result).largest, kTwinTolerance);
  if (test.width > 30) {
    EXPECT_GT(twin.accepted, test.width * test.height / 4);
    EXPECT_GT(twin.lonely, 0);
    EXPECT_GT(difference(result, image).rms, 2);
  }
}

constexpr TwinCase kTwinCases[] = {
    {1, 1, 1, 21, 7, Centre::kMax, 100, 100, 100},
    {1, 1, 1, 3, 2, Centre::kZero, 100, 100, 100},
    {1, 1, 29, 9, 5, Centre::kOne, 100, 100, 100},
    {1, 29, 1, 9, 4, Centre::kMax, 100, 100, 100},
    {3, 2, 3, 21, 7, Centre::kMax, 100, 100, 100},
    {1, 2, 3, 63, 16, Centre::kMax, 100, 100, 100},
    {1, 61, 40, 9, 3, Centre::kMax, 100, 100, 100},
    {1, 41, 38, 11, 5, Centre::kOne, 100, 100, 100},
    {1, 61, 38, 9, 7, Centre::kZero, 100, 100, 100},
    {1, 65, 27, 9, 2, Centre::kMax, 200, 200, 100},
    {1, 44, 35, 11, 6, Centre::kMax, 150, 100, 100},
    {1, 20, 20, 5, 15, Centre::kMax, 100, 100, 100},
    {1, 25, 20, 7, 16, Centre::kMax, 200, 200, 100},
    {1, 61, 40, 9, 3, Centre::kMax, 60, 100, 100},
    {3, 55, 39, 9, 3, Centre::kMax, 100, 100, 100},
    {3, 45, 39, 9, 5, Centre::kOne, 130, 100, 100},
    {3, 42, 33, 9, 3, Centre::kMax, 100, 60, 180},
    {3, 42, 33, 7, 3, Centre::kZero, 100, 0, 100},
    {3, 42, 33, 7, 4, Centre::kMax, 100, 100, 0},
};
INSTANTIATE_TEST_SUITE_P(Cases, SwNlmTwin, testing::ValuesIn(kTwinCases));

// The integers' W against the test itself, on samples rounded as match values are.
TEST(SwNlmPlan, CoefficientsGiveTheTestsW) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 16 * std::sqrt(2.0));
  for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
    const SwNlmPlan plan = level_of(sw_params(21, patch), 1).sw_nlm;
    const int32_t n = patch * patch;
    EXPECT_NEAR(plan.least_w, shapiro_wilk_threshold(n, 0.05), 1e-6);
    for (int32_t trial = 0; trial < 50; ++trial) {
      std::vector<double> d(n);
      for (double& v : d) v = std::rint(noise(random));
      const double expected = shapiro_wilk(d).w;
      std::sort(d.begin(), d.end());
      double order = 0, s1 = 0, s2 = 0;
      for (int32_t i = 0; i < n / 2; ++i) order += plan.coefficient[i] * (d[n - 1 - i] - d[i]);
      for (double v : d) s1 += v, s2 += v * v;
      EXPECT_NEAR(order * order * plan.norm / (n * s2 - s1 * s1), expected, 1e-4) << patch;
    }
  }
}

// Of pairs of equal patches, so many as theory says pass every gate: 0.68 the mean, 0.84 the
// deviation, 0.95 the test.
TEST(SwNlmPlan, EqualPatchesPassAsOftenAsTheorySays) {
  for (int32_t patch : {5, 7, 9}) {
    const LevelPlan level = level_of(sw_params(7, patch), 1);
    const test::SwNlmTwin twin = test::reference_sw_nlm(level.sw_nlm, flat_noise(kSigma));
    EXPECT_NEAR(static_cast<double>(twin.accepted) / (60.0 * 60 * 48), 0.55, 0.08) << patch;
  }
}

TEST(SwNlm, AnyRectangleGivesTheBitsOfTheWhole) {
  for (int32_t channels : {1, 3}) {
    Params params = sw_params(11, channels == 1 ? 5 : 4);
    params.chroma = 150;
    const LevelPlan level = level_of(params, channels);
    const Planes image = test_image(channels, 301, 133);
    const Planes whole = filtered(level, image);
    for (const Rect& rect : {Rect{0, 0, 1, 1}, Rect{300, 132, 1, 1}, Rect{13, 1, 270, 70},
                             Rect{5, 64, 17, 69}, Rect{255, 63, 46, 3}}) {
      EXPECT_TRUE(same_bits(filtered(level, image, rect, 2), whole)) << rect.x << ' ' << rect.y;
    }
  }
}

TEST(SwNlm, ThreadsDoNotMatter) {
  const LevelPlan level = level_of(sw_params(9, 3), 3);
  const Planes image = test_image(3, 530, 150);
  const Planes one = filtered(level, image);
  for (int32_t threads : {2, 5}) {
    EXPECT_TRUE(same_bits(filtered(level, image, image.rect(), threads), one)) << threads;
  }
}

TEST(SwNlm, InstructionSetsDoNotMatter) {
  const LevelPlan level = level_of(sw_params(7, 5), 3);
  const Planes image = test_image(3, 61, 47);
  const Planes best = filtered(level, image);
  test::for_instruction_sets([&] { EXPECT_TRUE(same_bits(filtered(level, image), best)); });
}

TEST(SwNlm, ConstantImageStaysBitForBit) {
  const LevelPlan level = level_of(sw_params(21, 7), 3);
  Planes image(3, {0, 0, 40, 30});
  for (int32_t c = 0; c < 3; ++c) {
    const float value = 33.37f * static_cast<float>(c + 1);
    for (int32_t y = 0; y < 30; ++y) std::fill_n(image.at(c, 0, y), 40, value);
  }
  EXPECT_TRUE(same_bits(filtered(level, image), image));
}

TEST(SwNlm, LonelyPixelsTakeTheWeightsOfNonLocalMeans) {
  // Noise of half the plan's deviation: hardly any pair passes.
  const Planes noisy = flat_noise(kSigma / 2), clean = flat_noise(0);
  const LevelPlan level = level_of(sw_params(11, 7), 1);
  EXPECT_GT(test::reference_sw_nlm(level.sw_nlm, noisy).lonely, 60 * 60 * 9 / 10);
  EXPECT_LT(difference(filtered(level, noisy), clean).rms, 0.2 * kSigma / 2);
}

TEST(SwNlm, MoreStrengthNeverRemovesLess) {
  for (int32_t channels : {1, 3}) {
    for (float sigma : {10.0f, 25.0f, 50.0f}) {
      const Planes image = test_image(channels, 96, 96, sigma);
      Params params = sw_params(0, 0);
      double last = 0;
      for (params.strength = 5; params.strength <= 200; params.strength += 15) {
        const Planes result = filtered(level_of(params, channels, sigma), image);
        const double removed = difference(result, image).rms;
        EXPECT_GE(removed, last * (1 - 1e-5)) << params.strength << " at sigma " << sigma;
        last = removed;
      }
    }
  }
}

TEST(SwNlm, RemovesNoise) {
  for (int32_t channels : {1, 3}) {
    const Planes clean = test_image(channels, 128, 128, 0), noisy = test_image(channels, 128, 128);
    const Planes result = filtered(level_of(sw_params(0, 0), channels), noisy);
    EXPECT_LT(difference(result, clean).rms, 0.5 * kSigma);
  }
}

TEST(SwNlm, MemoryIsBoundedWhateverTheSize) {
  const LevelPlan level = level_of(sw_params(63, 16), 3);
  const uint64_t megapixel = sw_nlm_bytes(level, {3, 1024, 1024}, 2);
  EXPECT_LE(megapixel, uint64_t{40} << 20);
  EXPECT_EQ(sw_nlm_bytes(level, {3, 6000, 4000}, 2), megapixel);
}

}  // namespace
}  // namespace grainless
