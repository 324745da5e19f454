// SPDX-License-Identifier: MIT
// BM3D, all stages (Dabov 2007; Lebrun, IPOL 2012).
#pragma once

#include <cstddef>

#include "cuda/frame/method.cuh"
#include "cuda/runtime/launch.h"

namespace grainless::cuda {

void run_bm3d(const MethodJob& job);
// Device bytes beyond source and target; size: of the source.
size_t bm3d_scratch_bytes(const LevelPlan& level, const LevelSize& size);
// See CudaMethod::expect_supported.
void expect_bm3d(const LevelPlan& level, int channels, const DeviceLimits* limits);

}  // namespace grainless::cuda
