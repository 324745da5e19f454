// SPDX-License-Identifier: MIT
// A group's coefficients on one warp: Haar transform along the group and Wiener filter.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "bm3d_select.cuh"
#include "engine/bm3d_math.h"

namespace grainless::cuda {

// Haar without its factors 1 / sqrt 2 (engine/bm3d_math.h: haar_gain).
template <int kCount>
__device__ __forceinline__ void haar_forward(float (&v)[kCount]) {
#pragma unroll
  for (int step = 1; step < kCount; step *= 2) {
#pragma unroll
    for (int m = 0; m < kCount; m += 2 * step) {
      const float a = v[m], b = v[m + step];
      v[m] = a + b;
      v[m + step] = a - b;
    }
  }
}

template <int kCount>
__device__ __forceinline__ void haar_inverse(float (&v)[kCount]) {
#pragma unroll
  for (int step = kCount / 2; step >= 1; step /= 2) {
#pragma unroll
    for (int m = 0; m < kCount; m += 2 * step) {
      const float a = v[m], b = v[m + step];
      v[m] = a + b;
      v[m + step] = a - b;
    }
  }
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int distance = 16; distance >= 1; distance /= 2) {
    v += __shfl_xor_sync(kFullWarp, v, distance);
  }
  return v;
}

// A warp's coefficients in shared memory: those of a lane's pixel i of patch m.
template <int kLargest>
struct Stage {
  float* lane;

  __device__ __forceinline__ float& at(int i, int m) const { return lane[(i * kLargest + m) * 32]; }
};

template <int kCount, int kLargest>
__device__ __forceinline__ void read_stage(const Stage<kLargest>& stage, int i,
                                           float (&v)[kCount]) {
#pragma unroll
  for (int m = 0; m < kCount; ++m) v[m] = stage.at(i, m);
  haar_forward(v);
}

template <int kCount, int kLargest>
__device__ __forceinline__ void write_stage(float (&v)[kCount], int i,
                                            const Stage<kLargest>& stage) {
  haar_inverse(v);
#pragma unroll
  for (int m = 0; m < kCount; ++m) stage.at(i, m) = v[m];
}

__device__ __forceinline__ float reciprocal(float v) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}

// The parts that the Wiener filter removes, each divided by its coefficient's gain, from the
// pilot's coefficients. Returns the group's weight.
template <int kCount, int kLargest>
__device__ __forceinline__ float wiener_parts(const Stage<kLargest>& stage, float variance,
                                              int lane, float (&parts)[2][kCount]) {
  float total = 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    read_stage(stage, i, parts[i]);
#pragma unroll
    for (int m = 0; m < kCount; ++m) {
      // v / (s^2 + v): an s^2 beyond float's range gives 0.
      const float gain = haar_gain(m, kCount), s = parts[i][m];
      float part = variance * reciprocal(fmaf(s, s, variance * gain));
      if (m == 0 && i + lane == 0) part = 0;
      const float kept = fmaf(-gain, part, 1.0f);
      total = fmaf(kept, kept, total);
      parts[i][m] = part;
    }
  }
  return 1.0f / warp_sum(total);
}

template <int kCount, int kLargest>
__device__ __forceinline__ void weigh(const float (&parts)[2][kCount],
                                      const Stage<kLargest>& stage) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float v[kCount];
    read_stage(stage, i, v);
#pragma unroll
    for (int m = 0; m < kCount; ++m) v[m] *= parts[i][m];
    write_stage(v, i, stage);
  }
}

}  // namespace grainless::cuda
