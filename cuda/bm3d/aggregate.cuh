// SPDX-License-Identifier: MIT
#pragma once

#include "engine/boundary/bm3d_math.h"
#include "stage.cuh"

namespace grainless::cuda {

// Adds sums of integers to a pixel's.
__device__ __forceinline__ void add_steps(PixelSums* pixel, long long removed, unsigned weight) {
  atomicAdd(&pixel->removed, static_cast<unsigned long long>(removed));
  atomicAdd(&pixel->weight, static_cast<unsigned long long>(weight));
}

// What a first stage adds to (engine/boundary/bm3d_math.h).
struct FirstSums {
  PatchSums sums;
  Rect out, map;

  // x and y: in the image.
  __device__ __forceinline__ void add_weight(int x, int y, int steps) const {
    const int mx = x - map.x, my = y - map.y;
    if (mx < 0 || mx >= map.width || my < 0 || my >= map.height) return;
    atomicAdd(sums.weight + static_cast<size_t>(my) * map.width + mx, static_cast<unsigned>(steps));
  }
  __device__ __forceinline__ void add_removed(int x, int y, long long removed) const {
    const int ox = x - out.x, oy = y - out.y;
    if (removed == 0 || ox < 0 || ox >= out.width || oy < 0 || oy >= out.height) return;
    atomicAdd(sums.removed + static_cast<size_t>(oy) * out.width + ox,
              static_cast<unsigned long long>(removed));
  }
};

inline FirstSums first_sums(const StageJob& job) {
  return {job.patch_sums(), job.out.rect, job.map_rect()};
}

// Adds sums of w * (what is removed, in deviations) and of w, of a second stage, to a pixel's.
__device__ __forceinline__ void add_to_pixel(PixelSums* pixel, float removed, float weight) {
  const float bounded = fminf(fmaxf(removed, -kLargestRemoved), kLargestRemoved);
  atomicAdd(&pixel->removed,
            static_cast<unsigned long long>(__float2ll_rn(bounded * (1 / kRemovedUnit))));
  atomicAdd(&pixel->weight,
            static_cast<unsigned long long>(__float2ll_rn(weight * (1 / kWeightUnit))));
}

}  // namespace grainless::cuda
