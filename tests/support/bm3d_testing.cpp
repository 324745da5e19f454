// SPDX-License-Identifier: MIT
#include "bm3d_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

#include "reference_bm3d.h"

namespace grainless::test {

Params high(Params params) {
  params.quality = static_cast<int32_t>(Quality::kHigh);
  return params;
}

Params small_params(int32_t search, int32_t patch, int32_t step, int32_t group) {
  Params params;
  params.search = search;
  params.patch = patch;
  params.step = step;
  params.group = group;
  return params;
}

Planes bm3d_picture(int32_t channels, int32_t width, int32_t height, float sigma, float slope) {
  std::mt19937 random(11);
  std::normal_distribution<float> noise(0, 1);
  return planes_of(channels, width, height, [&](int32_t c, int32_t x, int32_t y) {
    const float edge = 45.0f * static_cast<float>((x / 9 + y / 13) % 2), u = static_cast<float>(x),
                v = static_cast<float>(y), wave = 10.0f * std::sin(0.9f * u + 0.4f * v);
    return 80.0f + slope * u - 40.0f * static_cast<float>(c) + edge + wave + sigma * noise(random);
  });
}

float twin_tolerance(const Bm3dStage& stage) {
  const bool first = stage.rule == static_cast<int32_t>(GroupRule::kHardThreshold);
  return 0.02f + (first ? 4e-4f * stage.shrink[0] : 0.0f);
}

void expect_stages_agree(const LevelPlan& level, const Planes& image,
                         const std::function<Planes(int32_t, const StageInputs&)>& one_stage) {
  Planes pilot;
  ReferenceLeft left;
  for (int32_t s = 0; s < level.stage_count; ++s) {
    const Bm3dStage& stage = level.bm3d[s];
    if (stage.share < 1) left = reference_left(image, left, pilot, stage);
    const bool all = left.picture.channels() == 0;
    const StageInputs inputs{all ? image : left.picture, level.has_pilot(s) ? &pilot : nullptr,
                             all ? nullptr : &left.share};
    Planes result = one_stage(s, inputs);
    const Planes twin =
        reference_bm3d_stage(stage, inputs.noisy, inputs.pilot, nullptr, inputs.share);
    EXPECT_LT(difference(result, twin).largest, twin_tolerance(stage)) << "stage " << s;
    pilot = std::move(result);
  }
  EXPECT_GT(difference(pilot, image).largest, 1.0);
}

}  // namespace grainless::test
