// SPDX-License-Identifier: MIT
// The one way to call CUDA: every return code is checked, and becomes one of three errors. An error
// that poisons the context (anything but out of memory) is kDeviceFailed. launch.h launches
// kernels.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "engine/boundary/status.h"

namespace grainless::cuda {

// Throws Error for code, naming what was tried.
[[noreturn]] void throw_cuda_error(cudaError_t code, const char* what);

inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw_cuda_error(code, what);
}

}  // namespace grainless::cuda
