// SPDX-License-Identifier: MIT
// Shapiro-Wilk NLM (Yamanappa et al. 2018).
#pragma once

#include <cstddef>

#include "cuda/frame/method.cuh"
#include "cuda/runtime/launch.h"

namespace grainless::cuda {

void run_sw_nlm(const MethodJob& job);
// Device bytes beyond source and target; size: of the source.
size_t sw_nlm_scratch_bytes(const LevelPlan& level, const LevelSize& size);
// See CudaMethod::expect_supported.
void expect_sw_nlm(const LevelPlan& level, int channels, const DeviceLimits* limits);

}  // namespace grainless::cuda
