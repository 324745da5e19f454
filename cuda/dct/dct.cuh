// SPDX-License-Identifier: MIT
// Sliding-window DCT (Yu and Sapiro 2011); see DctPlan.
#pragma once

#include <cstddef>

#include "cuda/frame/method.cuh"
#include "cuda/runtime/launch.h"

namespace grainless::cuda {

void run_dct(const MethodJob& job);
// Device bytes beyond source and target; size: of the source.
size_t dct_scratch_bytes(const LevelPlan& level, const LevelSize& size);
// See CudaMethod::expect_supported.
void expect_dct(const LevelPlan& level, int channels, const DeviceLimits* limits);

}  // namespace grainless::cuda
