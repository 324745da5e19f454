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
    noise.stack.between.known = !instead;
    noise.stack.between.instead = instead;
    for (int32_t l = 0; l < kBetweenLevels; ++l) {
      noise.stack.between.sigma[l][0] = 20.0f - 6.0f * static_cast<float>(l);
    }
    std::fill_n(noise.stack.between.tones, kNoiseTones, 1.0f);
    const FusionPlan full = make_fusion_plan(Params(), 2, 1, noise);
    const FusionPlan half = make_fusion_plan(Params(), 2, 1, noise_at_level(noise, 1));
    EXPECT_EQ(half.gain[0][0], full.gain[1][0]);
    EXPECT_EQ(half.gain[1][0], full.gain[2][0]);
    EXPECT_FLOAT_EQ(half.gain[2][0], 4 * full.gain[2][0]);
  }
}

// Nor would a preview average less than the result does, or in other places.
TEST(NoiseAtLevel, FollowsWhatMovesAsAtFullResolution) {
  NoiseModel noise = white_noise(3, 5);
  noise.stack.places = {2, 901, 600, {{}, {{44, -20}, {0, 0.01}}}};
  ASSERT_TRUE(make_fusion_plan(Params(), 2, 3, noise).follows);
  const FusionPlan quarter = make_fusion_plan(Params(), 2, 3, noise_at_level(noise, 2));
  EXPECT_TRUE(quarter.follows);
  EXPECT_EQ(quarter.places.width, 226);
  EXPECT_EQ(quarter.places.height, 150);
  const Similarity by = quarter.places.between(0, 1, 2, 226, 150);
  EXPECT_EQ(by.by, PicturePoint(11, -5));
  EXPECT_EQ(by.more, PicturePoint(0, 0.01));
  EXPECT_TRUE(quarter.places.between(0, 1, 3, 226, 150).is_none());
  EXPECT_FALSE(make_fusion_plan(Params(), 2, 3, white_noise(3, 1.25f)).follows);
}

TEST(LayerPlaces, AskForWhatLayersAtThatDepthHold) {
  NoiseModel noise = white_noise(3, 5);
  noise.stack.places = {3, 900, 600, {{}, {{30, 40}, {}}, {{60, 80}, {}}}};
  EXPECT_NEAR(noise.stack.places.farthest(1), 50, 1e-9);
  EXPECT_NEAR(noise.stack.places.farthest(2), 100, 1e-9);
  EXPECT_NEAR(noise.stack.places.farthest(30), 100, 1e-9);
  const auto reach = [&](int32_t depth) {
    return make_fusion_plan(Params(), depth, 3, noise).reach();
  };
  const int32_t near = reach(1), far = reach(2);
  EXPECT_EQ(far - near, 50);
  noise.stack.places = {};
  EXPECT_EQ(near - reach(1), 50 + kMovedRound + 4);
}

TEST(LayerStrengths, SayHowMuchEachLayerIsWorth) {
  NoiseModel noise = white_noise(1, 6);
  EXPECT_EQ(make_fusion_plan(Params(), 2, 1, noise).worth(0, 5), 3);
  EXPECT_EQ(make_fusion_plan(Params(), 2, 1, noise).worth(2, 5), 5);
  noise.stack.strengths = {3, {0.5f, 1, 2}};
  const FusionPlan plan = make_fusion_plan(Params(), 2, 1, noise);
  EXPECT_EQ(plan.worth(0, 3), 1 + 0.25 + 0.0625);
  EXPECT_EQ(plan.worth(2, 3), 16 + 4 + 1);
  EXPECT_EQ(plan.worth(2, 4), 4) << "of a stack that it wasn't measured of";
  EXPECT_EQ(make_fusion_plan(Params(), 1, 1, noise).worth(2, 3), 4 + 1);
  EXPECT_EQ(told_noise(noise).sigma[0][0], 12) << "the noisiest layer's";
  EXPECT_EQ(told_noise(noise_of_layer(noise, 0, 3)).sigma[0][0], 3);
  EXPECT_EQ(noise_at_level(noise, 1).stack.strengths.of[2], 2);
  EXPECT_EQ(noise.stack.strengths.part(1, 2).at(1, 2), 2);
  EXPECT_EQ(LayerStrengths().part(1, 2).at(1, 2), 1);
}

TEST(LoneLayers, HaveTheirOwnNoiseAtAnyResolution) {
  NoiseModel noise = white_noise(1, 6);
  EXPECT_EQ(lone_noise(noise, 0, 3), nullptr);
  LoneLayers lone;
  lone.noise = {white_noise(1, 3), std::nullopt, white_noise(1, 20)};
  noise.lone = std::make_shared<const LoneLayers>(lone);
  EXPECT_EQ(told_noise(noise).sigma[0][0], 20);
  EXPECT_EQ(told_noise(noise_of_layer(noise, 0, 3)).sigma[0][0], 3);
  EXPECT_EQ(told_noise(noise_of_layer(noise, 1, 3)).sigma[0][0], 6);
  const NoiseModel half = noise_at_level(noise, 1);
  EXPECT_EQ(lone_noise(half, 0, 3)->sigma[0][0], 1.5f);
  EXPECT_EQ(lone_noise(half, 1, 3), nullptr);
  EXPECT_EQ(lone_noise(half, 2, 3)->sigma[0][0], 10);
  EXPECT_EQ(lone_noise(half, 2, 4), nullptr) << "of another stack";
  lone.noise = {white_noise(1, 3), white_noise(1, 2)};
  noise.lone = std::make_shared<const LoneLayers>(lone);
  EXPECT_EQ(told_noise(noise).sigma[0][0], 3);
}

}  // namespace
}  // namespace grainless
