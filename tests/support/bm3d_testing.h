// SPDX-License-Identifier: MIT
// What the tests of BM3D share, on the processor and on a card.
#pragma once

#include <functional>

#include "plane_testing.h"

namespace grainless::test {

// With ridge filters after the first stage.
Params high(Params params);
Params small_params(int32_t search, int32_t patch, int32_t step, int32_t group);

// A slope, in steps a pixel, edges, a texture and noise.
Planes bm3d_picture(int32_t channels, int32_t width, int32_t height, float sigma = kSigma,
                    float slope = 0.5f);

// How far a stage may be from the twin: the first one rounds what it removes
// (engine/boundary/bm3d_math.h), and by some thousandths of sigma where few patches meet.
float twin_tolerance(const Bm3dStage& stage);

// What a stage filters, its pilot and its shares of the noise; null where it has none.
struct StageInputs {
  const Planes& noisy;
  const Planes *pilot, *share;
};

// Each stage on its own against the twin, on the same inputs: a pilot's last bits may change what
// matches, which is no error. one_stage(number, inputs): its estimate.
void expect_stages_agree(const LevelPlan& level, const Planes& image,
                         const std::function<Planes(int32_t, const StageInputs&)>& one_stage);

}  // namespace grainless::test
