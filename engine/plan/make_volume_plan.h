// SPDX-License-Identifier: MIT
// make_plan() for Non-Local Means over a volume.
#pragma once

#include <cstdint>

#include "engine/boundary/volume_plan.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"

namespace grainless {

// The layers of a patch are its side, or fewer where the box has no more. params must be valid;
// depth is 1 to kMaxDepth.
VolumePlan make_volume_plan(const Params& params, int32_t depth, int32_t channels,
                            const NoiseModel& noise);

}  // namespace grainless
