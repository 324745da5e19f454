// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/status.h"
#include "engine/cpu/nlm/kernel.h"
#include "engine/cpu/nlm/nlm.h"
#include "engine/noise/model.h"
#include "engine/plan/make_plan.h"
#include "tests/support/answer_time.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/plane_testing.h"
#include "tests/support/reference_nlm.h"

namespace grainless {
namespace {

using test::cropped, test::difference, test::kSigma, test::level_of, test::same_bits;

Params nlm_params(int32_t search, int32_t patch, Quality quality = Quality::kNormal) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.quality = static_cast<int32_t>(quality);
  params.search = search;
  params.patch = patch;
  return params;
}

// Slopes, edges and noise, in 64ths of a step so that sums with small integers are exact.
Planes test_image(int32_t channels, int32_t width, int32_t height, float sigma = kSigma) {
  std::mt19937 random(7);
  std::normal_distribution<float> noise;
  return test::planes_of(channels, width, height, [&](int32_t c, int32_t x, int32_t y) {
    const float edge = (x / 7 + y / 11) % 2 == 0 ? 0.0f : 40.0f;
    const float clean =
        90.0f + 2.0f * static_cast<float>(x % 16) - static_cast<float>(c) * 60.0f + edge;
    return clean + std::rint(64 * sigma * noise(random)) / 64;
  });
}

Planes filtered(const LevelPlan& level, const Planes& image, const Rect& rect, int32_t threads,
                const Callbacks& callbacks = {}) {
  ThreadPool pool(threads);
  Planes result(image.channels(), rect);
  run_nlm({&level, image.rect().width, image.rect().height, &image, &result, &pool, &callbacks});
  return result;
}

Planes filtered(const LevelPlan& level, const Planes& image) {
  return filtered(level, image, image.rect(), 1);
}

template <typename Difference>
double largest(const Planes& a, const Rect& rect, const Difference& difference) {
  double worst = 0;
  for (int32_t c = 0; c < a.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      for (int32_t x = rect.x; x < rect.right(); ++x) {
        const double d = std::abs(difference(c, x, y));
        worst = d <= worst ? worst : d;  // keeps a NaN, too
      }
    }
  }
  return worst;
}

// Float against double sums, and polynomial against library exponentials.
constexpr double kTwinTolerance = 1e-3;
// Rounded matching moves the small weights of pixels without any alike by some percent.
constexpr double kRealTolerance = 0.5;  // root of the mean square

struct TwinCase {
  int32_t channels, width, height, search, patch;
  Centre centre;
  double luma, chroma;
  Quality quality = Quality::kNormal;
  WeightRule weights = WeightRule::kLessNoise;
};

class NlmTwin : public testing::TestWithParam<TwinCase> {};

TEST_P(NlmTwin, AgreesWithPlainDouble) {
  const TwinCase& test = GetParam();
  Params params = nlm_params(test.search, test.patch, test.quality);
  params.centre = static_cast<int32_t>(test.centre);
  params.luma = test.luma;
  params.chroma = test.chroma;
  params.weights = static_cast<int32_t>(test.weights);
  const LevelPlan level = level_of(params, test.channels);
  const Planes image = test_image(test.channels, test.width, test.height);
  const Planes result = filtered(level, image);
  const Planes expected = test::reference_nlm(level.nlm, image, test::Matching::kRounded);
  EXPECT_LT(difference(result, expected).largest, kTwinTolerance);
  const Planes real = test::reference_nlm(level.nlm, image, test::Matching::kReal);
  EXPECT_LT(difference(result, real).rms, kRealTolerance);
  if (test.width > 16) {
    EXPECT_GT(difference(result, image).rms, 5);
  }
}

constexpr TwinCase kTwinCases[] = {
    {1, 1, 1, 21, 7, Centre::kMax, 100, 100},
    {1, 1, 1, 3, 2, Centre::kZero, 100, 100},
    {1, 1, 29, 9, 5, Centre::kOne, 100, 100},
    {1, 29, 1, 9, 4, Centre::kMax, 100, 100},
    {3, 2, 3, 21, 7, Centre::kMax, 100, 100},
    {1, 2, 3, 63, 16, Centre::kMax, 100, 100},
    {1, 33, 21, 7, 3, Centre::kMax, 100, 100},
    {1, 31, 18, 7, 3, Centre::kOne, 100, 100},
    {1, 31, 18, 7, 3, Centre::kZero, 100, 100},
    {1, 65, 17, 9, 2, Centre::kMax, 100, 100},
    {1, 24, 35, 11, 6, Centre::kMax, 100, 100},
    {1, 20, 20, 5, 15, Centre::kMax, 100, 100},
    {3, 35, 19, 7, 3, Centre::kMax, 100, 100},
    {3, 35, 19, 7, 5, Centre::kOne, 150, 150},
    {3, 22, 23, 9, 4, Centre::kMax, 60, 180},
    {3, 22, 23, 7, 3, Centre::kZero, 0, 100},
    {3, 22, 23, 7, 3, Centre::kMax, 100, 0},
    {1, 31, 18, 7, 5, Centre::kMax, 100, 100, Quality::kNormal, WeightRule::kClassic},
    {3, 35, 19, 7, 3, Centre::kOne, 70, 140, Quality::kNormal, WeightRule::kClassic},
    {1, 31, 18, 7, 5, Centre::kMax, 100, 100, Quality::kHigh, WeightRule::kClassic},
    {1, 1, 1, 9, 7, Centre::kMax, 100, 100, Quality::kHigh},
    {1, 1, 29, 9, 5, Centre::kOne, 100, 100, Quality::kHigh},
    {1, 29, 2, 9, 4, Centre::kMax, 100, 100, Quality::kHigh},
    {1, 5, 4, 7, 16, Centre::kMax, 100, 100, Quality::kHigh},
    {1, 33, 21, 7, 3, Centre::kMax, 100, 100, Quality::kHigh},
    {1, 31, 18, 7, 5, Centre::kZero, 100, 100, Quality::kHigh},
    {1, 24, 35, 7, 6, Centre::kOne, 100, 100, Quality::kHigh},
    {3, 35, 19, 7, 3, Centre::kMax, 100, 100, Quality::kHigh},
    {3, 22, 23, 5, 2, Centre::kMax, 60, 180, Quality::kHigh},
    {3, 22, 23, 5, 3, Centre::kZero, 0, 100, Quality::kHigh},
};
INSTANTIATE_TEST_SUITE_P(Cases, NlmTwin, testing::ValuesIn(kTwinCases));

class Nlm : public testing::TestWithParam<Quality> {};
INSTANTIATE_TEST_SUITE_P(Qualities, Nlm, testing::Values(Quality::kNormal, Quality::kHigh));

TEST_P(Nlm, AnyRectangleGivesTheBitsOfTheWhole) {
  for (int32_t channels : {1, 3}) {
    Params params = nlm_params(11, channels == 1 ? 7 : 4, GetParam());
    params.chroma = 150;
    const PixelFormat format{Component::kFloat, channels};
    const Plan plan = make_plan(params, format, white_noise(channels, kSigma));
    const LevelPlan& level = plan.level[0];
    const Planes image = test_image(channels, 301, 133);
    const Planes whole = filtered(level, image);
    for (const Rect& rect : {Rect{0, 0, 1, 1}, Rect{300, 132, 1, 1}, Rect{13, 1, 270, 70},
                             Rect{5, 64, 17, 69}, Rect{255, 63, 46, 3}}) {
      EXPECT_TRUE(same_bits(filtered(level, image, rect, 2), whole)) << rect.x << ' ' << rect.y;
      const Rect needed = intersect(expand(rect, plan.halo - kFillRadius), image.rect());
      const Planes source = cropped(image, needed);
      Planes part(channels, rect);
      ThreadPool pool(1);
      const Callbacks callbacks;
      run_nlm({&level, 301, 133, &source, &part, &pool, &callbacks});
      EXPECT_TRUE(same_bits(part, whole)) << rect.x << ' ' << rect.y;
    }
  }
}

TEST_P(Nlm, ThreadsDoNotMatter) {
  const LevelPlan level = level_of(nlm_params(9, 5, GetParam()), 3);
  const Planes image = test_image(3, 530, 150);
  const Planes one = filtered(level, image);
  for (int32_t threads : {2, 3, 5}) {
    EXPECT_TRUE(same_bits(filtered(level, image, image.rect(), threads), one)) << threads;
  }
}

TEST_P(Nlm, InstructionSetsDoNotMatter) {
  const LevelPlan level = level_of(nlm_params(7, 5, GetParam()), 3);
  const Planes image = test_image(3, 61, 47);
  const Planes best = filtered(level, image);
  test::for_instruction_sets([&] { EXPECT_TRUE(same_bits(filtered(level, image), best)); });
}

TEST_P(Nlm, ConstantImageStaysBitForBit) {
  const LevelPlan level = level_of(nlm_params(21, 7, GetParam()), 3);
  Planes image(3, {0, 0, 40, 30});
  for (int32_t c = 0; c < 3; ++c) {
    const float value = 33.37f * static_cast<float>(c + 1);
    for (int32_t y = 0; y < 30; ++y) std::fill_n(image.at(c, 0, y), 40, value);
  }
  EXPECT_TRUE(same_bits(filtered(level, image), image));
}

TEST_P(Nlm, TranspositionCommutes) {
  for (int32_t patch : {6, 7}) {
    const LevelPlan level = level_of(nlm_params(13, patch, GetParam()), 1);
    const Planes image = test_image(1, 90, 70);
    Planes transposed(1, {0, 0, 70, 90});
    for (int32_t y = 0; y < 70; ++y) {
      for (int32_t x = 0; x < 90; ++x) *transposed.at(0, y, x) = *image.at(0, x, y);
    }
    const Planes result = filtered(level, image), other = filtered(level, transposed);
    const auto difference = [&](int32_t c, int32_t x, int32_t y) {
      return double{*result.at(c, x, y)} - *other.at(c, y, x);
    };
    EXPECT_LT(largest(result, result.rect(), difference), 1e-3);
  }
}

TEST_P(Nlm, NegativesCommute) {
  const LevelPlan level = level_of(nlm_params(13, 5, GetParam()), 1);
  const Planes image = test_image(1, 90, 70);
  Planes negative(1, image.rect());
  for (int32_t y = 0; y < 70; ++y) {
    for (int32_t x = 0; x < 90; ++x) *negative.at(0, x, y) = 255.0f - *image.at(0, x, y);
  }
  const Planes result = filtered(level, image), other = filtered(level, negative);
  const auto difference = [&](int32_t c, int32_t x, int32_t y) {
    return double{*result.at(c, x, y)} - (255.0 - *other.at(c, x, y));
  };
  EXPECT_LT(largest(result, result.rect(), difference), 1e-3);
}

TEST_P(Nlm, LonelyPixelKeepsItsValue) {
  Planes image(1, {0, 0, 31, 31});
  for (int32_t y = 0; y < 31; ++y) std::fill_n(image.at(0, 0, y), 31, 20.0f);
  *image.at(0, 15, 15) = 250.0f;
  Params params = nlm_params(5, 3, GetParam());
  for (Centre centre : {Centre::kMax, Centre::kOne, Centre::kZero}) {
    params.centre = static_cast<int32_t>(centre);
    EXPECT_EQ(*filtered(level_of(params, 1, 2), image).at(0, 15, 15), 250.0f);
  }
}

// With the plan's own patches, whose side grows with strength.
TEST_P(Nlm, MoreStrengthNeverRemovesLess) {
  for (int32_t channels : {1, 3}) {
    const Planes image = test_image(channels, 96, 96);
    Params params = nlm_params(0, 0, GetParam());
    double last = 0;
    for (params.strength = 5; params.strength <= 200; params.strength += 15) {
      const Planes result = filtered(level_of(params, channels, 40), image);
      const double removed = difference(result, image).rms;
      EXPECT_GE(removed, last * (1 - 1e-5)) << params.strength;
      last = removed;
    }
  }
}

TEST(NlmQuality, RemovesNoiseAndHighRemovesMore) {
  const Planes clean = test_image(1, 192, 192, 0), noisy = test_image(1, 192, 192);
  const double normal = difference(filtered(level_of(nlm_params(0, 0), 1), noisy), clean).rms;
  const double high =
      difference(filtered(level_of(nlm_params(0, 0, Quality::kHigh), 1), noisy), clean).rms;
  EXPECT_LT(normal, 0.6 * kSigma);
  EXPECT_LT(high, 0.99 * normal);
}

// Stronger than a camera's coarse noise, it has no look-alikes: the least unlike ones are none.
TEST(NlmQuality, TextureBesideCoarseNoiseStays) {
  constexpr float kCoarse = 4, kTexture = 3 * kCoarse;
  NoiseModel noise;
  noise.channels = 3;
  noise.levels = 1;
  for (int32_t c = 0; c < 3; ++c) {
    noise.sigma[0][c] = kCoarse;
    noise.white[c] = false;
  }
  std::mt19937 random(5);
  std::normal_distribution<float> texture(128, kTexture);
  const Planes image =
      test::planes_of(3, 60, 50, [&](int32_t, int32_t, int32_t) { return texture(random); });
  for (const Quality quality : {Quality::kFast, Quality::kNormal}) {
    Params params = nlm_params(0, 0, quality);
    params.chroma = 50;  // which takes coarse colour noise for twice as strong
    const Plan plan = make_plan(params, {Component::kFloat, 3}, noise);
    EXPECT_LT(difference(image, filtered(plan.level[0], image)).rms, 0.15 * kTexture);
  }
}

TEST(NlmRun, MatchRowsAreMatchValues) {
  constexpr int32_t kCount = 4000;
  std::vector<float> values(kCount + kNlmPad);
  std::vector<int32_t> match(kCount + kNlmPad);
  for (int32_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i - 1200) * 0.625f;
  for (const MatchCurve& curve : {MatchCurve{127.5f, 0.37f, kMatchKnee, kMatchMost},
                                  {127.5f, 1.28f, kMatchKnee, kMatchMost},
                                  {127.5f, 4.0f, kMatchKnee, kMatchMost},
                                  {127.5f, 31.9f, kMatchKnee, kMatchMost},
                                  {800.0f, 0.71f, 1500.0f, 1500.0f}}) {
    nlm_match_row(values.data(), kCount, curve, match.data());
    for (int32_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(match[i], match_value(values[i], curve)) << values[i];
    }
  }
}

TEST(NlmRun, CancelIsAnsweredSoon) {
  const LevelPlan level = level_of(nlm_params(63, 16), 3);
  const Planes image = test_image(3, 1500, 1000);
  const auto work = [&](const Callbacks& callbacks) {
    const Status status = guard([&] { filtered(level, image, image.rect(), 2, callbacks); });
    EXPECT_EQ(status.code(), ErrorCode::kCancelled);
  };
  const auto seconds = [&] {
    return test::seconds_to_cancel(std::chrono::milliseconds(100), work);
  };
  EXPECT_LT(test::quickest(0.1, seconds), 0.1);
}

TEST(NlmRun, ProgressRisesToOne) {
  const Planes image = test_image(1, 600, 200);
  double last = 0;
  Callbacks callbacks;
  callbacks.progress = [&](double fraction) {
    EXPECT_GE(fraction, last);
    last = fraction;
  };
  filtered(level_of(nlm_params(3, 3), 1), image, image.rect(), 3, callbacks);
  EXPECT_EQ(last, 1.0);
}

TEST(NlmRun, MemoryIsBoundedWhateverTheSize) {
  const LevelPlan level = level_of(nlm_params(63, 16), 3);
  const uint64_t megapixel = nlm_bytes(level, {3, 1024, 1024}, 2);
  EXPECT_LE(megapixel, uint64_t{40} << 20);
  EXPECT_EQ(nlm_bytes(level, {3, 6000, 4000}, 2), megapixel);
}

}  // namespace
}  // namespace grainless
