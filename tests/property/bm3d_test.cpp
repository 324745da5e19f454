// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "engine/boundary/status.h"
#include "engine/cpu/bm3d/bm3d.h"
#include "engine/cpu/bm3d/noise_left.h"
#include "engine/cpu/bm3d/post_filter.h"
#include "engine/cpu/bm3d/stage.h"
#include "engine/plan/make_plan.h"
#include "tests/support/answer_time.h"
#include "tests/support/bm3d_testing.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/reference_bm3d.h"

namespace grainless {
namespace {

using test::cropped, test::difference, test::Difference, test::high, test::kSigma, test::level_of,
    test::same_bits, test::small_params;

Planes picture(int32_t channels, int32_t width, int32_t height, float sigma = kSigma) {
  return test::bm3d_picture(channels, width, height, sigma);
}

Planes filtered(const LevelPlan& level, const Planes& image, const Rect& rect, int32_t threads,
                int32_t width, int32_t height, const Callbacks& callbacks = {}) {
  ThreadPool pool(threads);
  Planes result(image.channels(), rect);
  run_bm3d({&level, width, height, &image, &result, &pool, &callbacks});
  return result;
}

Planes filtered(const LevelPlan& level, const Planes& image, int32_t threads = 1) {
  const Rect& rect = image.rect();
  return filtered(level, image, rect, threads, rect.width, rect.height);
}

Planes one_stage(const Bm3dStage& stage, const Planes& noisy, const Planes* pilot,
                 const Planes* share = nullptr) {
  ThreadPool pool(1);
  const Callbacks callbacks;
  const Rect& rect = noisy.rect();
  return run_bm3d_stage({&stage, rect.width, rect.height, &noisy, share, pilot, pilot, rect, &pool,
                         &callbacks, 0, 1});
}

// f(x, y) of every pixel of every channel of a.
template <typename Change>
Planes changed(const Planes& a, const Rect& rect, const Change& f) {
  Planes result(a.channels(), rect);
  for (int32_t c = 0; c < a.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      for (int32_t x = rect.x; x < rect.right(); ++x) *result.at(c, x, y) = f(c, x, y);
    }
  }
  return result;
}

Planes transposed(const Planes& a) {
  const Rect rect{0, 0, a.rect().height, a.rect().width};
  return changed(a, rect, [&](int32_t c, int32_t x, int32_t y) { return *a.at(c, y, x); });
}

void expect_stages_agree(const LevelPlan& level, const Planes& image) {
  test::expect_stages_agree(level, image, [&](int32_t s, const test::StageInputs& inputs) {
    return cropped(one_stage(level.bm3d[s], inputs.noisy, inputs.pilot, inputs.share),
                   image.rect());
  });
}

TEST(Bm3d, StagesAgreeWithTheTwinForAllPatchesAndTransforms) {
  for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
    for (int32_t transform = 0; transform < 5; ++transform) {
      SCOPED_TRACE(testing::Message() << "patch " << patch << " transform " << transform);
      Params params = small_params(9, patch, (patch + 1) / 2, 8);
      params.transform = transform;
      expect_stages_agree(level_of(params, 1), picture(1, patch + 15, patch + 12));
    }
  }
}

TEST(Bm3d, StagesAgreeWithTheTwinForAllStepsAndGroups) {
  for (int32_t step = 1; step <= 8; ++step) {
    const int32_t group = 1 << (step % 6);
    SCOPED_TRACE(testing::Message() << "step " << step << " group " << group);
    expect_stages_agree(level_of(small_params(7, 8, step, group), 1), picture(1, 29, 26));
  }
}

TEST(Bm3d, StagesAgreeWithTheTwinForSmallAndOddSizes) {
  for (const auto& [width, height] :
       {std::pair{8, 8}, {8, 9}, {9, 8}, {11, 31}, {33, 10}, {70, 9}}) {
    SCOPED_TRACE(testing::Message() << width << " x " << height);
    expect_stages_agree(level_of(small_params(63, 8, 3, 32), 1), picture(1, width, height));
  }
}

TEST(Bm3d, StagesAgreeWithTheTwinInColourAndAcrossCells) {
  expect_stages_agree(level_of(small_params(11, 8, 4, 16), 3), picture(3, 45, 38));
  expect_stages_agree(level_of(small_params(5, 4, 4, 16), 1), picture(1, 150, 70));
  expect_stages_agree(level_of(small_params(15, 8, 4, 16), 1, 60), picture(1, 70, 40, 60));
}

TEST(Bm3d, RidgeAgreesWithTheTwinForAllPatchesAndGroups) {
  for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
    const int32_t group = 1 << (patch % 6);
    SCOPED_TRACE(testing::Message() << "patch " << patch << " group " << group);
    expect_stages_agree(level_of(high(small_params(9, patch, (patch + 1) / 2, group)), 1),
                        picture(1, patch + 15, patch + 12));
  }
  expect_stages_agree(level_of(high(small_params(11, 8, 4, 0)), 3, 4), picture(3, 45, 38, 4));
  expect_stages_agree(level_of(high(small_params(11, 8, 4, 0)), 1, 60), picture(1, 45, 38, 60));
}

TEST(Bm3d, WhatNoiseIsLeftAgreesWithTheTwin) {
  ThreadPool pool(3);
  const LevelPlan level = level_of(high({}), 3);
  for (const auto& [width, height] : {std::pair{75, 60}, {2 * kShareRadius, 41}, {3, 2}}) {
    const Planes noisy = picture(3, width, height);
    const Callbacks callbacks;
    NoiseLeft left(noisy, pool, callbacks);
    EXPECT_EQ(&left.picture(), &noisy);
    EXPECT_EQ(left.share(), nullptr);
    test::ReferenceLeft twin;
    for (int32_t s = 2; s < level.stage_count; ++s) {
      const Planes estimate = picture(3, width, height, 4.0f / static_cast<float>(s));
      left.leave(estimate, level.bm3d[s]);
      twin = test::reference_left(noisy, twin, estimate, level.bm3d[s]);
      EXPECT_LT(difference(left.picture(), twin.picture).largest, 1e-3) << "stage " << s;
      EXPECT_LT(difference(*left.share(), twin.share).largest, 1e-4) << "stage " << s;
    }
  }
}

TEST(Bm3d, AllStagesAgreeWithTheTwin) {
  for (const Params& params : {small_params(21, 8, 4, 0), high(small_params(21, 8, 4, 0))}) {
    const LevelPlan level = level_of(params, 3);
    const Planes image = picture(3, 52, 41);
    EXPECT_GT(difference(filtered(level, image), test::reference_bm3d(level, image)).psnr, 80);
  }
}

Planes post_filtered(const Planes& noisy, const Planes& estimate, float sigma, int32_t threads) {
  ThreadPool pool(threads);
  const Callbacks callbacks;
  Planes result(1, noisy.rect());
  run_post_filter({&noisy, &estimate, &result, noisy.rect().width, noisy.rect().height, sigma,
                   &pool, &callbacks});
  return result;
}

// Cells of 58 x 32 pixels, and pictures that are less than one.
TEST(Bm3d, PostFilterAgreesWithTheTwin) {
  for (const auto& [width, height] : {std::pair{140, 70}, {58, 32}, {59, 33}, {8, 11}, {1, 2}}) {
    for (float sigma : {2.0f, 25.0f}) {
      const Planes noisy = picture(1, width, height, sigma);
      const Planes estimate = picture(1, width, height, 0.3f * sigma);
      const Planes here = post_filtered(noisy, estimate, sigma, 2);
      const Difference d = difference(here, test::reference_post_filter(sigma, noisy, estimate));
      // Where a sum stands between two values of half precision, it is rounded the other way.
      EXPECT_LT(d.largest, 2e-3 * sigma) << width << " x " << height << ", sigma " << sigma;
      EXPECT_GT(d.psnr, 110) << width << " x " << height << ", sigma " << sigma;
    }
  }
}

TEST(Bm3d, PostFilterHelpsAndKeepsItsBound) {
  const Planes clean = picture(1, 300, 200, 0), noisy = picture(1, 300, 200);
  LevelPlan level = level_of(high({}), 1);
  const Planes with = filtered(level, noisy);
  const float sigma = std::exchange(level.post_filter, 0.0f);
  const Planes without = filtered(level, noisy);
  EXPECT_GT(difference(with, clean).psnr, difference(without, clean).psnr + 0.05);
  EXPECT_LE(difference(with, without).largest, 0.2501 * sigma);
  // Any two pictures: an estimate that has nothing to do with the noisy one.
  const Planes strange = picture(1, 300, 200, 300);
  EXPECT_LE(difference(post_filtered(noisy, strange, sigma, 2), strange).largest, 0.2501 * sigma);
}

TEST(Bm3d, TheFirstStageAloneIsThePilot) {
  Params params = small_params(21, 8, 4, 0);
  params.stages = static_cast<int32_t>(Stages::kFirst);
  const LevelPlan level = level_of(params, 3);
  const Planes image = picture(3, 52, 41);
  const Planes alone = filtered(level, image);
  EXPECT_TRUE(same_bits(one_stage(level.bm3d[0], image, nullptr), alone, image.rect()));
  EXPECT_GT(difference(alone, test::reference_bm3d(level, image)).psnr, 80);
  EXPECT_EQ(level.reach, 2 * 10 + 7);
  const Rect rect{17, 9, 20, 11};
  EXPECT_TRUE(same_bits(alone, filtered(level, image, rect, 2, 52, 41), rect));
}

TEST(Bm3d, MatchesOnAPrefilteredPicture) {
  Params params = small_params(21, 8, 3, 16);
  params.matching = static_cast<int32_t>(Matching::kPrefiltered);
  for (int32_t channels : {1, 3}) {
    const LevelPlan level = level_of(params, channels);
    ASSERT_EQ(level.stage_count, 3);
    EXPECT_EQ(level.bm3d[0].group, 1);
    EXPECT_EQ(level.matched_on(0), -1);
    EXPECT_EQ(level.matched_on(1), 0);
    EXPECT_EQ(level.matched_on(2), 1);
    const Planes image = picture(channels, 52, 41);
    const Planes whole = filtered(level, image);
    EXPECT_GT(difference(whole, test::reference_bm3d(level, image)).psnr, 70);
    EXPECT_GT(
        difference(whole, filtered(level_of(small_params(21, 8, 3, 16), channels), image)).largest,
        0.1);
    const Rect rect{17, 9, 20, 11};
    EXPECT_TRUE(same_bits(whole, filtered(level, image, rect, 2, 52, 41), rect));
  }
}

// What there is to match on is luma: without its noise there is nothing to prefilter.
TEST(Bm3d, APrefilterNeedsLuma) {
  Params params = small_params(21, 8, 3, 16);
  params.matching = static_cast<int32_t>(Matching::kPrefiltered);
  params.luma = 0;
  const LevelPlan level = level_of(params, 3);
  EXPECT_EQ(level.stage_count, 2);
}

TEST(Bm3d, PlaceAndThreadsDoNotMatter) {
  const int32_t width = 210, height = 170;
  for (const auto& [patch, step, channels, quality, transform] :
       {std::tuple{8, 3, 3, Quality::kNormal, Transform::kBior15},
        {5, 4, 1, Quality::kNormal, Transform::kBior15},
        {12, 7, 1, Quality::kNormal, Transform::kBior15},
        {8, 4, 1, Quality::kHigh, Transform::kBior15},
        {8, 3, 3, Quality::kNormal, Transform::kHadamard},
        {8, 3, 1, Quality::kNormal, Transform::kDft},
        {5, 4, 3, Quality::kNormal, Transform::kDft}}) {
    Params params = small_params(17, patch, step, 16);
    params.quality = static_cast<int32_t>(quality);
    params.transform = static_cast<int32_t>(transform);
    const LevelPlan level = level_of(params, channels);
    const Planes image = picture(channels, width, height);
    const Planes whole = filtered(level, image);
    for (int32_t threads : {2, 3, 5}) {
      EXPECT_TRUE(same_bits(whole, filtered(level, image, threads), image.rect())) << threads;
    }
    for (const Rect& rect : {Rect{0, 0, 1, 1}, Rect{63, 64, 2, 1}, Rect{1, 5, 130, 66},
                             Rect{100, 33, 110, 137}, Rect{209, 169, 1, 1}, Rect{77, 90, 31, 29}}) {
      const Planes source = cropped(image, intersect(expand(rect, level.reach), image.rect()));
      const Planes part = filtered(level, source, rect, 2, width, height);
      EXPECT_TRUE(same_bits(whole, part, rect)) << rect.x << ' ' << rect.y << ' ' << rect.width;
    }
  }
}

// The shares of the noise are measured round a reference, farther than its window reaches.
TEST(Bm3d, PlaceDoesNotMatterWhereSharesSeeMoreThanWindows) {
  const LevelPlan level = level_of(high(small_params(3, 4, 0, 4)), 1);
  const Planes image = picture(1, 60, 50), whole = filtered(level, image);
  for (int32_t x = 0; x < 58; x += 5) {
    const Rect rect{x, 40 - x / 2, 2, 3};
    const Planes source = cropped(image, intersect(expand(rect, level.reach), image.rect()));
    EXPECT_TRUE(same_bits(whole, filtered(level, source, rect, 1, 60, 50), rect)) << x;
  }
}

TEST(Bm3d, InstructionSetDoesNotMatter) {
  const Planes image = picture(3, 75, 60);
  Params fourier = small_params(13, 7, 3, 32);
  fourier.transform = static_cast<int32_t>(Transform::kDft);
  for (const Params& params :
       {small_params(13, 8, 3, 32), small_params(13, 7, 3, 32), high(small_params(13, 8, 3, 32)),
        high(small_params(9, 5, 2, 2)), high(small_params(9, 3, 2, 8)), fourier}) {
    const LevelPlan level = level_of(params, 3);
    const Planes best = filtered(level, image);
    test::for_instruction_sets(
        [&] { EXPECT_TRUE(same_bits(best, filtered(level, image), image.rect())); });
  }
}

TEST(Bm3d, ConstantImageStaysConstant) {
  for (float value : {0.0f, 0.3f, 128.0f, 255.0f, 900.0f}) {
    Planes image(1, {0, 0, 50, 40});
    image = changed(image, image.rect(), [&](int32_t, int32_t, int32_t) { return value; });
    for (int32_t transform = 0; transform < 5; ++transform) {
      Params params;
      params.transform = transform;
      for (const Params& p : {params, high(params)}) {
        const Difference d = difference(filtered(level_of(p, 1), image), image);
        EXPECT_LE(d.largest, 2e-5 * value) << value;  // hundreds of float sums, twice
      }
    }
  }
}

TEST(Bm3d, ChannelWithoutStrengthIsCopied) {
  for (int32_t kept : {0, 1}) {
    Params params = small_params(13, 8, 4, 16);
    (kept == 0 ? params.luma : params.chroma) = 0;
    const Planes image = picture(3, 40, 33);
    const Planes result = filtered(level_of(params, 3), image);
    for (int32_t c = 0; c < 3; ++c) {
      const bool copied =
          std::memcmp(result.at(c, 0, 5), image.at(c, 0, 5), 40 * sizeof(float)) == 0;
      EXPECT_EQ(copied, (c == 0) == (kept == 0)) << c;
    }
  }
}

TEST(Bm3d, HighlightsBeyondAllMeasureStayFinite) {
  Planes image = picture(1, 64, 40);
  for (int32_t i = 20; i < 30; ++i) *image.at(0, i, i) = 1e25f;
  for (const Params& params : {Params{}, high({})}) {
    const Planes result = filtered(level_of(params, 1), image);
    for (int32_t y = 0; y < 40; ++y) {
      for (int32_t x = 0; x < 64; ++x) EXPECT_TRUE(std::isfinite(*result.at(0, x, y)));
    }
  }
}

TEST(Bm3d, ImageSmallerThanAPatchIsCopied) {
  const Planes image = picture(1, 30, 7);
  EXPECT_TRUE(same_bits(filtered(level_of({}, 1), image), image, image.rect()));
}

TEST(Bm3d, TranspositionTransposesTheResult) {
  const LevelPlan level = level_of({}, 1);
  const Planes image = picture(1, 80, 64);
  const Difference d =
      difference(transposed(filtered(level, transposed(image))), filtered(level, image));
  EXPECT_GT(d.psnr, 60);  // candidates at the same distance may be taken in another order
}

TEST(Bm3d, BrightnessShiftShiftsTheResult) {
  const LevelPlan level = level_of({}, 1);
  const Planes image = picture(1, 80, 64);
  const float shift = 16;
  const auto moved = [&](const Planes& a, float by) {
    return changed(a, a.rect(),
                   [&](int32_t c, int32_t x, int32_t y) { return *a.at(c, x, y) + by; });
  };
  const Planes back = moved(filtered(level, moved(image, shift)), -shift);
  EXPECT_GT(difference(back, filtered(level, image)).psnr, 60);  // match values round differently
}

TEST(Bm3d, NoiseFallsByAsMuchAsItShould) {
  const Planes clean = picture(1, 96, 96, 0), noisy = picture(1, 96, 96);
  const double before = difference(noisy, clean).psnr;
  EXPECT_GT(difference(filtered(level_of({}, 1), noisy), clean).psnr, before + 7);
}

TEST(Bm3d, CancelIsAnsweredAtOnce) {
  Params params;
  params.quality = static_cast<int32_t>(Quality::kHigh);
  params.patch = kMaxPatch;
  params.step = 1;
  params.search = 63;
  params.group = kMaxGroup;
  const Planes image = picture(3, 256, 256);
  const auto work = [&](const Callbacks& callbacks) {
    const LevelPlan level = level_of(params, 3);
    const Status status =
        guard([&] { filtered(level, image, image.rect(), 2, 256, 256, callbacks); });
    EXPECT_EQ(status.code(), ErrorCode::kCancelled);
  };
  const auto seconds = [&] {
    return test::seconds_to_cancel(std::chrono::milliseconds(150), work);
  };
  EXPECT_LT(test::quickest(0.1, seconds), 0.1);
}

TEST(Bm3d, ProgressRisesToOne) {
  Callbacks callbacks;
  double last = 0;
  bool rising = true;
  callbacks.progress = [&](double fraction) {
    rising = rising && fraction >= last;
    last = fraction;
  };
  const Planes image = picture(1, 150, 140);
  filtered(level_of(small_params(9, 8, 4, 8), 1), image, image.rect(), 3, 150, 140, callbacks);
  EXPECT_TRUE(rising);
  EXPECT_DOUBLE_EQ(last, 1.0);
}

TEST(Bm3d, MemoryStaysUnderItsBound) {
  for (int32_t channels : {1, 3}) {
    const LevelPlan level = level_of({}, channels);
    const double pixels = 1024.0 * 1024.0, side = 1024 + 4 * (19 + 19 + 7);
    const uint64_t planes = Planes::bytes(channels, static_cast<int64_t>(side), 1204) +
                            Planes::bytes(channels, 1024, 1024);
    EXPECT_LT(static_cast<double>(planes + bm3d_bytes(level, {channels, 1204, 1204}, 4)) / pixels,
              145);
  }
}

// Where noise is far under the rounding of a group's energy (issue 12: 30.9 dB at sigma 0.05, 14.6
// at 0.01, black at 0.0001), what is removed falls with it.
TEST(Bm3dRidge, WeakNoiseNeverDestroysThePicture) {
  const auto clean = [](int32_t c, int32_t width, int32_t height) {
    return picture(c, width, height, 0);
  };
  const auto checkerboard = [](int32_t c, int32_t width, int32_t height) {
    return changed(picture(c, width, height, 0), {0, 0, width, height},
                   [](int32_t, int32_t x, int32_t y) { return (x + y) % 2 == 0 ? 0.0f : 255.0f; });
  };
  const auto noise = [](int32_t c, int32_t width, int32_t height) {
    return picture(c, width, height, 60);
  };
  for (const int32_t channels : {1, 3}) {
    for (const int32_t patch : {0, 2, 16}) {
      for (const Planes& image :
           {clean(channels, 53, 41), checkerboard(channels, 53, 41), noise(channels, 53, 41)}) {
        for (const float sigma : {2.0f, 0.5f, 0.3f, 0.05f, 0.01f, 1e-3f, 1e-4f, 1e-6f}) {
          const LevelPlan level = level_of(high(small_params(0, patch, 0, 0)), channels, sigma);
          EXPECT_LE(difference(filtered(level, image), image).rms, 3 * sigma + 1e-4)
              << "sigma " << sigma << ", patch " << patch << ", " << channels << " channels";
        }
      }
    }
  }
}

// A group's energy may be anything up to what float can square.
TEST(Bm3dRidge, LargeContrastsAreLeftAlone) {
  for (const float contrast : {1e3f, 1e5f, 1e8f, 1e12f}) {
    const Rect rect{0, 0, 40, 31};
    const Planes image = changed(picture(1, 40, 31), rect, [&](int32_t, int32_t x, int32_t y) {
      return contrast * static_cast<float>((x / 3 + y / 2) % 3) + static_cast<float>(x * y % 7);
    });
    const LevelPlan level = level_of(high({}), 1, 1.0f);
    EXPECT_LE(difference(filtered(level, image), image).rms, 3 + 1e-5 * contrast) << contrast;
  }
}

}  // namespace
}  // namespace grainless
