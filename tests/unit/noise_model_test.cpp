// SPDX-License-Identifier: MIT
#include "engine/noise/model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/params/params.h"
#include "engine/plan/fusion_plan.h"

namespace grainless {
namespace {

TEST(NoiseAtLevel, WhiteNoiseHalves) {
  const NoiseModel noise = white_noise(3, 12);
  for (const int32_t reduction : {0, 1, 3, 5}) {
    const NoiseModel reduced = noise_at_level(noise, reduction);
    EXPECT_EQ(reduced.levels, 1);
    for (int32_t c = 0; c < 3; ++c) EXPECT_EQ(reduced.sigma[0][c], 12.0f / (1 << reduction));
  }
}

TEST(NoiseAtLevel, IsWhatWasMeasuredThere) {
  NoiseModel noise = white_noise(1, 12);
  noise.levels = 3;
  noise.sigma[1][0] = 10;
  noise.sigma[2][0] = 7;
  const NoiseModel half = noise_at_level(noise, 1), eighth = noise_at_level(noise, 3);
  EXPECT_EQ(half.levels, 2);
  EXPECT_EQ(half.sigma[0][0], 10);
  EXPECT_EQ(half.sigma[1][0], 7);
  EXPECT_EQ(eighth.levels, 1);
  EXPECT_EQ(eighth.sigma[0][0], 3.5f);
}

// Or what has moved would be blended in a preview of less resolution, and in the result not.
TEST(NoiseAtLevel, TellsLayersApartAsItDoesAtFullResolution) {
  NoiseModel noise = white_noise(1, 6);
  for (const bool instead : {false, true}) {
    noise.between.known = !instead;
    noise.between.instead = instead;
    for (int32_t l = 0; l < kBetweenLevels; ++l) {
      noise.between.sigma[l][0] = 20.0f - 6.0f * static_cast<float>(l);
    }
    std::fill_n(noise.between.tones, kNoiseTones, 1.0f);
    const FusionPlan full = make_fusion_plan(Params(), 2, 1, noise);
    const FusionPlan half = make_fusion_plan(Params(), 2, 1, noise_at_level(noise, 1));
    EXPECT_EQ(half.gain[0][0], full.gain[1][0]);
    EXPECT_EQ(half.gain[1][0], full.gain[2][0]);
    EXPECT_FLOAT_EQ(half.gain[2][0], 4 * full.gain[2][0]);
  }
}

}  // namespace
}  // namespace grainless
