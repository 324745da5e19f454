// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/frame/method.cuh"
#include "cuda/runtime/launch.h"

namespace grainless::cuda {

// Luma of job.target, corrected from `estimate`, which holds what lies within kPostFilterReach of
// it in the image, as job.source does (engine/boundary/post_filter.h).
void run_post_filter(const MethodJob& job, const DevicePlanes& estimate,
                     const ProgressSpan& progress);

}  // namespace grainless::cuda
