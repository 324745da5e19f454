// SPDX-License-Identifier: MIT
// Non-Local Means (Buades 2005), joint distance over the channels.
#pragma once

#include <cstddef>

#include "cuda/frame/method.cuh"
#include "cuda/runtime/launch.h"

namespace grainless::cuda {

void run_nlm(const MethodJob& job);
// Device bytes beyond source and target; size: of the source.
size_t nlm_scratch_bytes(const LevelPlan& level, const LevelSize& size);
// See CudaMethod::expect_supported.
void expect_nlm(const LevelPlan& level, int channels, const DeviceLimits* limits);

}  // namespace grainless::cuda
