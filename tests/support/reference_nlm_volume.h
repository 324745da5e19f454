// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/boundary/volume_plan.h"
#include "engine/cpu/frame/planes.h"

namespace grainless::test {

// Non-Local Means over a volume as engine/boundary/volume_plan.h states it, in double, voxel by
// voxel, on the plan's rounded match values.
std::vector<Planes> reference_nlm_volume(const VolumePlan& plan, const std::vector<Planes>& layers);

}  // namespace grainless::test
