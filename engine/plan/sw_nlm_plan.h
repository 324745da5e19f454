// SPDX-License-Identifier: MIT
// The part of make_plan() that Shapiro-Wilk NLM needs.
#pragma once

#include "engine/boundary/plan.h"
#include "engine/params/params.h"
#include "level_request.h"
#include "match_scale.h"

namespace grainless {

// See MethodRow::set_level and MethodRow::smallest.
double set_sw_nlm_level(LevelPlan& level, const LevelRequest& request);
int32_t sw_nlm_smallest(const LevelPlan& level);

// The side of its patches at noise of sigma.
int32_t sw_nlm_patch(const Params& params, double sigma);

// `noise` a channel is what the test expects; fallback_h: h / sigma of the weights that pixels
// without an accepted pair take.
SwNlmPlan make_sw_nlm(const Params& params, const MatchSpan& span, int32_t patch,
                      const double* noise, int32_t channels, double fallback_h);

}  // namespace grainless
