// SPDX-License-Identifier: MIT
#pragma once

#include "stage.cuh"

namespace grainless::cuda {

// Adds a first stage's sums (engine/boundary/bm3d_math.h) to a pixel's.
__device__ __forceinline__ void add_steps(PixelSums* pixel, long long removed, unsigned weight) {
  atomicAdd(&pixel->removed, static_cast<unsigned long long>(removed));
  atomicAdd(&pixel->weight, static_cast<unsigned long long>(weight));
}

// Adds sums of w * (what is removed) and of w, of a second stage, to a pixel's.
__device__ __forceinline__ void add_to_pixel(PixelSums* pixel, float removed, float weight) {
  const float bounded = fminf(fmaxf(removed, -kLargestRemoved), kLargestRemoved);
  atomicAdd(&pixel->removed,
            static_cast<unsigned long long>(__float2ll_rn(bounded * (1 / kRemovedUnit))));
  atomicAdd(&pixel->weight,
            static_cast<unsigned long long>(__float2ll_rn(weight * (1 / kWeightUnit))));
}

}  // namespace grainless::cuda
