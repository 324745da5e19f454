// SPDX-License-Identifier: MIT
// A group's coefficients on one warp: Haar transform along the group, Wiener filter.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "bm3d_select.cuh"
#include "engine/bm3d_math.h"

namespace grainless::cuda {

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int distance = 16; distance >= 1; distance /= 2) {
    v += __shfl_xor_sync(kFullWarp, v, distance);
  }
  return v;
}

__device__ __forceinline__ float reciprocal(float v) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}

}  // namespace grainless::cuda
