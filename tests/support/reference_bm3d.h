// SPDX-License-Identifier: MIT
#pragma once

#include "engine/boundary/plan.h"
#include "engine/cpu/frame/planes.h"

namespace grainless::test {

// One stage of BM3D as engine/boundary/plan.h states it, in double, reference by reference. The
// planes hold the whole image; pilot is the estimate of the stage before, null in the first stage;
// first is the first stage's, if that is another one; share is of the noise, that `noisy` has, null
// for all of it.
Planes reference_bm3d_stage(const Bm3dStage& stage, const Planes& noisy, const Planes* pilot,
                            const Planes* first = nullptr, const Planes* share = nullptr);

// What a ridge filter that follows another filters (GroupRule::kRidge).
struct ReferenceLeft {
  Planes picture, share;  // without planes: the noisy picture, all of its noise
};
ReferenceLeft reference_left(const Planes& noisy, const ReferenceLeft& before,
                             const Planes& estimate, const Bm3dStage& next);

// Luma of the last stage's estimate, corrected (engine/boundary/post_filter.h).
Planes reference_post_filter(float sigma, const Planes& noisy, const Planes& estimate);

Planes reference_bm3d(const LevelPlan& level, const Planes& noisy);

}  // namespace grainless::test
