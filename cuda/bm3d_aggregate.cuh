// SPDX-License-Identifier: MIT
#pragma once

#include "bm3d_stage.cuh"

namespace grainless::cuda {

// Adds sums of w * (what is removed) and of w to a pixel's.
__device__ __forceinline__ void add_to_pixel(PixelSums* pixel, float removed, float weight) {
  const float bounded = fminf(fmaxf(removed, -kLargestRemoved), kLargestRemoved);
  atomicAdd(&pixel->removed,
            static_cast<unsigned long long>(__float2ll_rn(bounded * (1 / kRemovedUnit))));
  atomicAdd(&pixel->weight,
            static_cast<unsigned long long>(__float2ll_rn(weight * (1 / kWeightUnit))));
}

}  // namespace grainless::cuda
