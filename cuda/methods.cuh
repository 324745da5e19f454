// SPDX-License-Identifier: MIT
// The module's algorithms, a row each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/frame/method.cuh"
#include "cuda/runtime/launch.h"
#include "engine/boundary/choices.h"

namespace grainless::cuda {

struct CudaMethod {
  Method method;
  void (*run)(const MethodJob& job);
  // Device bytes beyond source and target; size: of the source.
  size_t (*scratch_bytes)(const LevelPlan& level, const LevelSize& size);
  // Throws Error(kUnsupported) for what the computer lacks, or a device of such limits (null: any).
  // What is found only when a kernel is launched is refused then.
  void (*expect_supported)(const LevelPlan& level, int channels, const DeviceLimits* limits);
};

// Throws Error(kUnsupported) where the module has none for Plan::method.
const CudaMethod& cuda_method(int32_t method);

}  // namespace grainless::cuda
