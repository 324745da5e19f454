// SPDX-License-Identifier: MIT
// The patch transform of BM3D on one warp: 8 x 8 patches, two pixels a lane (bm3d_filter.cu).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "bm3d_select.cuh"

namespace grainless::cuda {

inline constexpr int kPatchSide = 8;  // smaller patches are filled with zeros

// A lane's part of a patch transform's matrix F.
struct Basis {
#if __CUDA_ARCH__ >= 800
  // F[g][2 t], the rest of it after rounding to tf32, then the same of F[g][2 t + 1].
  uint32_t part[4];
#else
  float row[kPatchSide];
#endif
};

inline constexpr uint32_t kTf32Bits = 0xffffe000u;

__device__ __forceinline__ uint32_t tf32_high(float v) {
  return __float_as_uint(v) & kTf32Bits;
}

__device__ __forceinline__ float tf32_rest(float v) {
  return v - __uint_as_float(tf32_high(v));
}

// A value that the compiler can't load again: reading a kernel's arguments at another place in
// every lane takes an instruction a lane.
__device__ __forceinline__ float keep_register(float v) {
  asm volatile("" : "+f"(v));
  return v;
}

__device__ __forceinline__ Basis load_basis(const float* matrix, int lane) {
  Basis basis;
  const float* row = matrix + lane / 4 * kPatchSide;
#if __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float v = row[lane % 4 * 2 + i];
    basis.part[2 * i] = __float_as_uint(keep_register(__uint_as_float(tf32_high(v))));
    basis.part[2 * i + 1] = __float_as_uint(keep_register(tf32_rest(v)));
  }
#else
#pragma unroll
  for (int k = 0; k < kPatchSide; ++k) basis.row[k] = keep_register(row[k]);
#endif
  return basis;
}

#if __CUDA_ARCH__ >= 800
// sum += 16 x 8 times 8 x 8.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const Basis& a, uint32_t b0,
                                             uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.part[0]), "r"(a.part[1]), "r"(a.part[2]), "r"(a.part[3]), "r"(b0), "r"(b1));
}
#endif

// v = (F * v)^T.
__device__ __forceinline__ void half_transform(float (&v)[2], const Basis& basis) {
#if __CUDA_ARCH__ >= 800
  float sum[4] = {};
  multiply_add(sum, basis, __float_as_uint(tf32_rest(v[0])), __float_as_uint(tf32_rest(v[1])));
  multiply_add(sum, basis, tf32_high(v[0]), tf32_high(v[1]));
  v[0] = sum[0] + sum[2];
  v[1] = sum[1] + sum[3];
#else
  const int lane = threadIdx.x % 32;
  float sum[2] = {};
#pragma unroll
  for (int k = 0; k < kPatchSide; ++k) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float b = __shfl_sync(kFullWarp, v[k % 2], (lane % 4 * 2 + i) * 4 + k / 2);
      sum[i] = fmaf(basis.row[k], b, sum[i]);
    }
  }
  v[0] = sum[0];
  v[1] = sum[1];
#endif
}

__device__ __forceinline__ void transform(float (&v)[2], const Basis& basis) {
  half_transform(v, basis);
  half_transform(v, basis);
}

}  // namespace grainless::cuda
