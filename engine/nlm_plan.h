// SPDX-License-Identifier: MIT
// The part of make_plan() that Non-Local Means needs, over a plane or a volume.
#pragma once

#include "plan.h"

namespace grainless {

// Non-Local Means of pictures. `noise` a channel is what distances are measured in, in 8-bit steps.
NlmPlan make_nlm(const Params& params, const double* noise, int32_t channels);

// Sets the match planes' scale and centre, and the weights, for patches of so many voxels.
void set_nlm_weights(NlmPlan& nlm, const Params& params, const double* noise, int32_t channels,
                     int32_t voxels);

// h / sigma of WeightRule::kLessNoise.
double nlm_h(int32_t voxels, bool colour, bool patchwise);

}  // namespace grainless
