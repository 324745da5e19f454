// SPDX-License-Identifier: MIT
// The part of make_plan() that the DCT denoiser needs.
#pragma once

#include <cstdint>

#include "engine/boundary/plan.h"
#include "level_request.h"

namespace grainless {

// See MethodRow::set_level and MethodRow::smallest.
double set_dct_level(LevelPlan& level, const LevelRequest& request);
int32_t dct_smallest(const LevelPlan& level);

}  // namespace grainless
