// SPDX-License-Identifier: MIT
// The part of make_plan() that Shapiro-Wilk NLM needs.
#pragma once

#include "engine/boundary/plan.h"
#include "engine/params/params.h"
#include "match_scale.h"

namespace grainless {

// The side of its patches at noise of sigma.
int32_t sw_nlm_patch(const Params& params, double sigma);

// `noise` a channel is what the test expects; fallback_h: h / sigma of the weights that pixels
// without an accepted pair take.
SwNlmPlan make_sw_nlm(const Params& params, const MatchSpan& span, int32_t patch,
                      const double* noise, int32_t channels, double fallback_h);

}  // namespace grainless
