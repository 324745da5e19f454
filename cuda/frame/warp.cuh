// SPDX-License-Identifier: MIT
// What the lanes of a warp do together.
#pragma once

#include <cuda_runtime.h>

namespace grainless::cuda {

// In all lanes, by one order of additions.
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int distance = 16; distance >= 1; distance /= 2) v += __shfl_xor_sync(~0u, v, distance);
  return v;
}

__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
  for (int distance = 16; distance >= 1; distance /= 2) {
    v = fmaxf(v, __shfl_xor_sync(~0u, v, distance));
  }
  return v;
}

}  // namespace grainless::cuda
