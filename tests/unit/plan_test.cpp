// SPDX-License-Identifier: MIT
#include "engine/boundary/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/post_filter.h"
#include "engine/boundary/volume_plan.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/make_volume_plan.h"

namespace grainless {
namespace {

constexpr PixelFormat kGrey{Component::kU8, 1}, kRgb{Component::kFloat, 3};

TEST(Plan, DistancesFitTheirIntegersForEveryPatchAndNoise) {
  for (double sigma : {0.01, 0.5, 1.0, 5.0, 25.0, 50.0, 100.0}) {
    for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
      for (PixelFormat format : {kGrey, kRgb}) {
        Params params;
        params.patch = patch;
        params.quality = static_cast<int32_t>(Quality::kHigh);
        const NoiseModel noise = white_noise(format.colours(), static_cast<float>(sigma));
        const double nlm_pixels = 1.0 * patch * patch;
        const Plan bm3d = make_plan(params, format, noise);
        for (int32_t s = 0; s < bm3d.level[0].stage_count; ++s) {
          const Bm3dStage& stage = bm3d.level[0].bm3d[s];
          const double pixels = 1.0 * stage.patch * stage.patch;
          const double span = 2 * std::ceil(stage.match.most * stage.match.scale);
          EXPECT_LT(span * span * pixels, std::ldexp(1.0, 31));
          EXPECT_GT(stage.max_distance, 0u);
          EXPECT_LT(stage.max_distance, kMaxKeyDistance);
        }
        params.method = static_cast<int32_t>(Method::kNlm);
        const NlmPlan nlm = make_plan(params, format, noise).level[0].nlm;
        double sum = 0;
        for (int32_t c = 0; c < format.colours(); ++c) {
          const double span = 2 * std::ceil(nlm.match[c].most * nlm.match[c].scale);
          EXPECT_LT(span, 32768);
          sum += span * span * nlm_pixels;
        }
        EXPECT_LT(sum, std::ldexp(1.0, 31));
      }
    }
  }
}

TEST(Plan, NlmDistanceOfTwoNoisyCopiesIsTwo) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  const NlmPlan nlm = make_plan(params, kRgb, white_noise(3, 10.0f)).level[0].nlm;
  double sum = 0;  // each squared difference at its expectation, 2 sigma^2
  for (int32_t c = 0; c < 3; ++c) {
    sum += nlm.patch * nlm.patch * 2 * std::pow(10.0 * nlm.match[c].scale, 2);
  }
  EXPECT_NEAR(sum * nlm.luma.gain, 2.0, 1e-4);
}

// Chroma without any noise tells nothing of it: as much is expected as of one channel.
TEST(Plan, NlmExpectsNoNoiseOfChannelsThatHaveNone) {
  for (const Method method : {Method::kNlm, Method::kSwNlm}) {
    Params params;
    params.method = static_cast<int32_t>(method);
    params.patch = 5;
    NoiseModel noise = white_noise(3, 10.0f);
    noise.sigma[0][1] = noise.sigma[0][2] = 0;
    const LevelPlan level = make_plan(params, kRgb, noise).level[0];
    const LevelPlan grey = make_plan(params, kGrey, white_noise(1, 10.0f)).level[0];
    const auto expected = [&](const NlmWeight& weight, const MatchCurve& curve) {
      return weight.gain * 25 * 2 * std::pow(10.0 * curve.scale, 2);
    };
    if (method == Method::kNlm) {
      EXPECT_NEAR(expected(level.nlm.luma, level.nlm.match[0]), 2.0, 1e-4);
      EXPECT_FLOAT_EQ(level.nlm.luma.decay, grey.nlm.luma.decay);
    } else {
      EXPECT_NEAR(expected(level.sw_nlm.luma.fallback, level.sw_nlm.match[0]), 2.0, 1e-4);
      EXPECT_FLOAT_EQ(level.sw_nlm.taken[0], grey.sw_nlm.taken[0]);
    }
  }
}

// Chroma that follows from luma tells nothing more of what is alike: patches are compared and
// weighed as those of grey.
TEST(Plan, OfTonedPicturesLumaAloneIsCompared) {
  for (const Method method : {Method::kNlm, Method::kSwNlm}) {
    Params params;
    params.method = static_cast<int32_t>(method);
    NoiseModel toned = white_noise(3, 10.0f);
    toned.sigma[0][1] = 3;
    toned.toned = true;
    NoiseModel neutral = toned;
    neutral.sigma[0][1] = neutral.sigma[0][2] = 0;
    const LevelPlan level = make_plan(params, kRgb, toned).level[0];
    const LevelPlan as_grey = make_plan(params, kRgb, neutral).level[0];
    if (method == Method::kNlm) {
      EXPECT_EQ(level.nlm.match[0].scale, as_grey.nlm.match[0].scale);
      EXPECT_EQ(level.nlm.match[1].scale, 0);
      EXPECT_EQ(level.nlm.match[2].scale, 0);
      EXPECT_EQ(level.nlm.patch, as_grey.nlm.patch);
      EXPECT_EQ(level.nlm.chroma.gain, as_grey.nlm.luma.gain);
      EXPECT_EQ(level.nlm.chroma.decay, as_grey.nlm.luma.decay);
    } else {
      EXPECT_EQ(level.sw_nlm.match[1].scale, 0);
      EXPECT_EQ(level.sw_nlm.taken[1], as_grey.sw_nlm.taken[0]);
      EXPECT_EQ(level.sw_nlm.luma.fallback.gain, as_grey.sw_nlm.luma.fallback.gain);
    }
  }
}

// exp(-S / h^2) of the sum S of squared differences in 8-bit steps, h^2 = 2 beta sigma^2 |V| (Palma
// et al. 2013, from Coupe et al. 2008); beta is the square of strength.
void expect_classic(const NlmPlan& nlm, double voxels, double sigma, double beta) {
  const double one = std::pow(nlm.match[0].scale, 2);  // what a squared step is in match values
  const double h2 = 2 * beta * sigma * sigma * voxels;
  EXPECT_EQ(nlm.luma.noise, 0);
  EXPECT_NEAR(one * nlm.luma.gain * nlm.luma.decay * h2, 1, 1e-6);
}

TEST(Plan, ClassicWeightsAreThoseOfTheirPapers) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.weights = static_cast<int32_t>(WeightRule::kClassic);
  for (double sigma : {3.0, 20.0, 60.0}) {
    for (double strength : {50.0, 100.0, 140.0}) {
      for (int32_t patch : {3, 5, 8}) {
        params.strength = strength;
        params.patch = patch;
        const double beta = strength * strength / 1e4;
        const NoiseModel noise = white_noise(1, static_cast<float>(sigma));
        expect_classic(make_plan(params, kGrey, noise).level[0].nlm, patch * patch, sigma, beta);
        const VolumePlan volume = make_volume_plan(params, 2, 1, noise);
        expect_classic(volume.nlm, patch * patch * volume.layers, sigma, beta);
      }
    }
  }
}

// So every backend may count on it, whatever is asked for.
TEST(Plan, NlmsWeightsVanishWhereDistancesStillAreSmall) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  const auto vanish_at = [](const NlmWeight& weight) {
    return (kNlmCutoff / double{weight.decay} + weight.noise) / weight.gain;
  };
  for (const WeightRule rule : {WeightRule::kLessNoise, WeightRule::kClassic}) {
    params.weights = static_cast<int32_t>(rule);
    for (const double strength : {1.0, 100.0, 200.0}) {
      params.strength = params.luma = strength;
      for (const int32_t patch : {2, 9, 15}) {
        params.patch = patch;
        for (const float sigma : {0.1f, 20.0f, 100.0f}) {
          const NlmPlan nlm = make_plan(params, kRgb, white_noise(3, sigma)).level[0].nlm;
          const NlmPlan volume = make_volume_plan(params, 2, 3, white_noise(3, sigma)).nlm;
          for (const NlmWeight& weight : {nlm.luma, nlm.chroma, volume.luma, volume.chroma}) {
            EXPECT_LT(vanish_at(weight), kNlmVanishes) << strength << ' ' << patch << ' ' << sigma;
          }
        }
      }
    }
  }
}

// A camera's coarse noise, as it is measured in its JPEGs.
NoiseModel camera_noise(float luma, float chroma) {
  NoiseModel noise = white_noise(3, luma);
  for (int32_t c = 0; c < 3; ++c) {
    noise.white[c] = false;
    noise.strength[c] = c == 0 ? 1.7f : 3.2f;
    if (c > 0) noise.sigma[0][c] = chroma;
  }
  return noise;
}

// How much more than by (100, 100) the weights let pass, in sigmas: of luma and of chroma.
std::pair<double, double> nlm_reach(const Params& params, const NoiseModel& noise) {
  NoiseModel white = noise;
  for (bool& channel : white.white) channel = true;
  Params same = params;
  same.quality = static_cast<int32_t>(Quality::kHigh);  // patch-wise, as the other is
  same.patch = 5;
  const NlmPlan nlm = make_plan(params, kRgb, noise).level[0].nlm;
  const NlmPlan one = make_plan(same, kRgb, white).level[0].nlm;
  // Of distances in noise that is taken for 0.9 and 1.8 times as strong.
  const double unit = std::pow(one.match[0].scale / nlm.match[0].scale / 0.9, 2);
  return {std::sqrt(unit * one.luma.gain / nlm.luma.gain),
          std::sqrt(unit * one.chroma.gain / nlm.chroma.gain)};
}

TEST(Plan, NlmTakesMoreOfACamerasNoiseWhereColoursStandIt) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  const auto [luma, chroma] = nlm_reach(params, camera_noise(5, 1.5f));
  EXPECT_NEAR(luma, 1.25, 0.01);
  EXPECT_NEAR(chroma, 2.2, 0.01);
  const auto [of_strong, strong] = nlm_reach(params, camera_noise(28, 10));
  EXPECT_NEAR(of_strong, 1.25, 0.01);
  EXPECT_NEAR(strong, 1.0, 0.01);
  EXPECT_EQ(make_plan(params, kRgb, camera_noise(5, 1.5f)).level[0].nlm.joint, 0);
}

// White noise that editing has made coarse is expected in differences, as white noise is.
TEST(Plan, NlmTakesEditedNoiseForWhite) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  NoiseModel noise = camera_noise(5, 5);
  noise.was_white = true;
  const NlmPlan& edited = make_plan(params, kRgb, noise).level[0].nlm;
  const NlmPlan& white = make_plan(params, kRgb, white_noise(3, 5)).level[0].nlm;
  EXPECT_EQ(edited.luma.noise, white.luma.noise);
  EXPECT_EQ(edited.patch, white.patch);
  EXPECT_GT(edited.centre.own, 0);
  EXPECT_NEAR(edited.chroma.gain / edited.luma.gain, 0.7 * 0.7, 0.01);  // 1 / strength^2
  EXPECT_EQ(make_plan(params, kRgb, noise).level_count, 3);
}

TEST(Plan, NlmTakesLessOfWhatMayBeTexture) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  NoiseModel noise = camera_noise(8, 4);
  const auto [luma, chroma] = nlm_reach(params, noise);
  noise.like_texture = true;
  const auto [less_luma, less_chroma] = nlm_reach(params, noise);
  EXPECT_NEAR(less_luma, 0.4 * luma, 0.01);
  EXPECT_NEAR(less_chroma, 0.4 * chroma, 0.01);
}

TEST(Plan, NlmTakesLittleOfWhatMayBeFilmGrain) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  for (const float sigma : {1.0f, 4.0f, 8.0f}) {
    NoiseModel noise = camera_noise(sigma, 1);
    noise.like_grain = true;
    const auto [luma, chroma] = nlm_reach(params, noise);
    EXPECT_NEAR(luma, std::min(1.0, 2.15 / sigma), 0.01);
    EXPECT_NEAR(chroma, luma, 0.01);
  }
}

TEST(Plan, ThresholdsAreContinuousAndGrowWithSigma) {
  double last[kMaxBm3dStages] = {};
  Params params;
  params.quality = static_cast<int32_t>(Quality::kHigh);
  for (double sigma = 1; sigma <= 100; sigma += 0.25) {
    const Plan plan = make_plan(params, kGrey, white_noise(1, static_cast<float>(sigma)));
    ASSERT_EQ(plan.level[0].stage_count, 5);
    for (int32_t s = 0; s < 5; ++s) {
      const Bm3dStage& stage = plan.level[0].bm3d[s];
      const double tau = std::ldexp(1.0 * stage.max_distance, stage.distance_shift) /
                         (1.0 * stage.patch * stage.patch * stage.match.scale * stage.match.scale);
      EXPECT_GE(tau, last[s] * 0.9999);
      if (sigma > 1) {
        EXPECT_LT(tau, last[s] * 1.2 + 1);
      }
      last[s] = tau;
    }
  }
}

TEST(Plan, HaloCoversAllStagesOfBm3d) {
  Params params;
  const Plan bm3d = make_plan(params, kGrey, white_noise(1, 10));
  EXPECT_EQ(bm3d.halo, kFillRadius + 2 * (2 * 19 + 7));
  params.quality = static_cast<int32_t>(Quality::kHigh);
  EXPECT_EQ(make_plan(params, kGrey, white_noise(1, 10)).halo,
            kFillRadius + 5 * 2 * 19 + 7 + 7 + 4 + 5 + 6 + kPostFilterReach);
  params.quality = static_cast<int32_t>(Quality::kNormal);
  params.stages = static_cast<int32_t>(Stages::kFirst);
  EXPECT_EQ(make_plan(params, kGrey, white_noise(1, 10)).halo, kFillRadius + 2 * 19 + 7);
  params.stages = 0;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.search = 21;
  params.patch = 7;
  EXPECT_EQ(make_plan(params, kGrey, white_noise(1, 10)).halo, kFillRadius + 10 + 3);
}

// It has learned from what all of high's stages leave of the finest level's luma.
TEST(Plan, PostFilterFollowsHighAlone) {
  Params high;
  high.quality = static_cast<int32_t>(Quality::kHigh);
  const Plan plan = make_plan(high, kRgb, white_noise(3, 30));
  ASSERT_EQ(plan.level_count, 2);
  EXPECT_EQ(plan.level[0].post_filter, plan.level[0].bm3d[0].sigma[0]);
  EXPECT_EQ(plan.level[0].post_filter, 30);
  EXPECT_EQ(plan.level[1].post_filter, 0);
  for (const auto& [key, value] : {std::pair{"quality", "normal"},
                                   {"quality", "fast"},
                                   {"stages", "first"},
                                   {"luma", "0"},
                                   {"method", "nlm"}}) {
    Params params = high;
    ASSERT_TRUE(set_param(params, key, value).ok()) << key;
    EXPECT_EQ(make_plan(params, kRgb, white_noise(3, 30)).level[0].post_filter, 0) << key;
  }
}

// Two levels of white noise are for low frequencies alone; a camera's are where its noise is.
TEST(Plan, CoarserLevelsOfWhiteNoiseTakeLess) {
  Params high;
  high.quality = static_cast<int32_t>(Quality::kHigh);
  const Plan white = make_plan(high, kRgb, white_noise(3, 30));
  ASSERT_EQ(white.level_count, 2);
  EXPECT_EQ(white.level[0].stage_count, 5);
  EXPECT_EQ(white.level[1].stage_count, 4);
  EXPECT_EQ(white.level[0].bm3d[0].step, 3);
  EXPECT_EQ(white.level[1].bm3d[0].step, 4);
  const Plan camera = make_plan(high, kRgb, camera_noise(30, 1.5f));
  ASSERT_EQ(camera.level_count, 3);
  EXPECT_EQ(camera.level[2].stage_count, 5);
  EXPECT_EQ(camera.level[2].bm3d[0].step, 3);
}

// Each ridge filter is left less of the noise than the stage before.
TEST(Plan, RidgeFiltersFollowOneAnother) {
  Params params;
  params.quality = static_cast<int32_t>(Quality::kHigh);
  for (const int32_t patch : {0, 2, 16}) {
    params.patch = patch;
    const LevelPlan level = make_plan(params, kGrey, white_noise(1, 10)).level[0];
    ASSERT_EQ(level.stage_count, 5);
    EXPECT_EQ(level.bm3d[0].share, 1);
    EXPECT_EQ(level.bm3d[1].share, 1);
    for (int32_t s = 2; s < 5; ++s) {
      const Bm3dStage& stage = level.bm3d[s];
      EXPECT_EQ(stage.rule, static_cast<int32_t>(GroupRule::kRidge));
      EXPECT_EQ(level.matched_on(s), 0);
      EXPECT_EQ(stage.sigma[0], 10);
      EXPECT_LE(stage.step, stage.patch);
      EXPECT_LT(stage.share, level.bm3d[s - 1].share);
    }
  }
}

TEST(Plan, NothingToDoIsSeen) {
  Params params;
  EXPECT_TRUE(changes_nothing(params, white_noise(3, 0)));
  EXPECT_FALSE(changes_nothing(params, white_noise(3, 1)));
  params.strength = 0;
  EXPECT_TRUE(changes_nothing(params, white_noise(3, 1)));
  params.strength = 100;
  params.luma = 0;
  EXPECT_FALSE(changes_nothing(params, white_noise(3, 1)));
  EXPECT_TRUE(changes_nothing(params, white_noise(1, 1)));
  params.luma = 100;
  params.detail = 100;
  EXPECT_TRUE(changes_nothing(params, white_noise(1, 1)));
  EXPECT_FALSE(changes_nothing(params, white_noise(3, 1)));
}

// Weaker than anything a float picture can show: squares and quotients would leave float's range.
TEST(Plan, NoiseBelowFloatsRoundingIsNone) {
  for (double tiny : {1e-7, 1e-20, 1e-100, 1e-300}) {
    Params params;
    EXPECT_TRUE(changes_nothing(params, white_noise(3, static_cast<float>(tiny))));
    params.strength = tiny;
    EXPECT_TRUE(changes_nothing(params, white_noise(3, 10)));
    params.strength = 100;
    params.luma = tiny;
    EXPECT_TRUE(changes_nothing(params, white_noise(1, 10)));
    EXPECT_FALSE(changes_nothing(params, white_noise(3, 10)));
    const LevelPlan bm3d = make_plan(params, kRgb, white_noise(3, 10)).level[0];
    EXPECT_EQ(bm3d.bm3d[0].shrink[0], 0);
    EXPECT_GT(bm3d.bm3d[0].shrink[1], 0);
    params.method = static_cast<int32_t>(Method::kNlm);
    const NlmPlan nlm = make_plan(params, kRgb, white_noise(3, 10)).level[0].nlm;
    EXPECT_EQ(nlm.luma.enabled, 0);
    EXPECT_EQ(nlm.chroma.enabled, 1);
    EXPECT_EQ(make_volume_plan(params, 2, 3, white_noise(3, 10)).nlm.luma.enabled, 0);
    params.method = static_cast<int32_t>(Method::kSwNlm);
    const SwNlmPlan sw_nlm = make_plan(params, kRgb, white_noise(3, 10)).level[0].sw_nlm;
    EXPECT_EQ(sw_nlm.taken[0], 0);
    EXPECT_GT(sw_nlm.taken[1], 0);
  }
}

TEST(Plan, ALevelWithoutNoiseIsCopied) {
  NoiseModel noise = white_noise(1, 10);
  noise.levels = 3;
  noise.white[0] = false;
  noise.sigma[1][0] = 4;
  noise.sigma[2][0] = 0;
  for (const Method method : {Method::kBm3d, Method::kNlm, Method::kSwNlm, Method::kDct}) {
    Params params;
    params.method = static_cast<int32_t>(method);
    params.scales = 4;
    const Plan plan = make_plan(params, kGrey, noise);
    for (int32_t l = 0; l < 4; ++l) {
      const LevelPlan& level = plan.level[l];
      const bool filtered = method == Method::kBm3d  ? level.bm3d[0].shrink[0] > 0
                            : method == Method::kNlm ? level.nlm.luma.enabled != 0
                            : method == Method::kDct ? level.dct.stage[0].shrink[0] > 0
                                                     : level.sw_nlm.taken[0] > 0;
      EXPECT_EQ(filtered, l < 2) << "level " << l;
    }
  }
}

}  // namespace
}  // namespace grainless
