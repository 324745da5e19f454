// SPDX-License-Identifier: MIT
// The part of make_plan() that Shapiro-Wilk NLM needs.
#pragma once

#include "engine/boundary/plan.h"
#include "level_request.h"

namespace grainless {

// See MethodRow::set_level and MethodRow::smallest.
double set_sw_nlm_level(LevelPlan& level, const LevelRequest& request);
int32_t sw_nlm_smallest(const LevelPlan& level);

}  // namespace grainless
