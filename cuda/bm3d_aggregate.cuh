// SPDX-License-Identifier: MIT
#pragma once

#include "bm3d_stage.cuh"

namespace grainless::cuda {

// Adds sums of w * (estimate - source) and of w to a pixel's.
__device__ __forceinline__ void add_to_pixel(PixelSums* pixel, float deviation, float weight) {
  const float bounded = fminf(fmaxf(deviation, -kLargestDeviation), kLargestDeviation);
  atomicAdd(&pixel->deviation,
            static_cast<unsigned long long>(__float2ll_rn(bounded * (1 / kDeviationUnit))));
  atomicAdd(&pixel->weight,
            static_cast<unsigned long long>(__float2ll_rn(weight * (1 / kWeightUnit))));
}

}  // namespace grainless::cuda
