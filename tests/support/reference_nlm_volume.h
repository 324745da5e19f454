// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/cpu/planes.h"
#include "engine/volume_plan.h"

namespace grainless::test {

// Non-Local Means over a volume as volume_plan.h states it, in double, voxel by voxel, on the
// plan's rounded match values.
std::vector<Planes> reference_nlm_volume(const VolumePlan& plan, const std::vector<Planes>& layers);

}  // namespace grainless::test
