// SPDX-License-Identifier: MIT
#pragma once

#include "engine/boundary/plan.h"
#include "engine/cpu/frame/planes.h"

namespace grainless::test {

struct SwNlmTwin {
  Planes result;
  int64_t accepted = 0;  // pairs, each counted from both of its ends
  int64_t lonely = 0;    // pixels of luma without any accepted pair
};

// Shapiro-Wilk NLM as engine/boundary/plan.h states it, in double, pixel by pixel, from the
// definition of mean, deviation and W; only the match values and the gates' limits are the plan's.
// The planes hold the whole image.
SwNlmTwin reference_sw_nlm(const SwNlmPlan& plan, const Planes& image);

}  // namespace grainless::test
