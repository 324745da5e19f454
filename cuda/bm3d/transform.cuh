// SPDX-License-Identifier: MIT
// The patch transform of BM3D on one warp: 8 x 8 patches, two pixels a lane (filter.cu).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "select.cuh"

namespace grainless::cuda {

inline constexpr int kPatchSide = 8;  // smaller patches are filled with zeros

inline constexpr uint32_t kTf32Bits = 0xffffe000u;

// What truncation to tf32 takes from numbers of all sizes alike, in the mean: 2^-11 (1 - 1/2) /
// ln 2.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
inline constexpr float kTruncated = 3.522e-4f;
#else
inline constexpr float kTruncated = 0;
#endif

// A lane's part of a patch transform's matrix F.
struct alignas(16) Basis {
#if __CUDA_ARCH__ >= 800
  // F[g][2 t] rounded to tf32, the rest of it, then the same of F[g][2 t + 1].
  float part[4];
#else
  float row[kPatchSide];
#endif
};

__device__ __forceinline__ float tf32_high(float v) {
  return __uint_as_float(__float_as_uint(v) & kTf32Bits);
}

__device__ __forceinline__ float tf32_rest(float v) {
  return v - tf32_high(v);
}

// F's entry as the fast transforms have it.
__device__ __forceinline__ float fast_entry(float v) {
#if __CUDA_ARCH__ >= 800
  return __uint_as_float((__float_as_uint(v) + ~kTf32Bits / 2 + 1) & kTf32Bits);
#else
  return v;
#endif
}

// A value that the compiler can't load again: reading a kernel's arguments at another place in
// every lane takes an instruction a lane.
__device__ __forceinline__ float keep_register(float v) {
  asm volatile("" : "+f"(v));
  return v;
}

__device__ __forceinline__ Basis make_basis(const float* matrix, int lane) {
  Basis basis;
  const float* row = matrix + lane / 4 * kPatchSide;
#if __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float v = row[lane % 4 * 2 + i];
    basis.part[2 * i] = fast_entry(v);
    basis.part[2 * i + 1] = v - fast_entry(v);
  }
#else
#pragma unroll
  for (int k = 0; k < kPatchSide; ++k) basis.row[k] = row[k];
#endif
  return basis;
}

#if __CUDA_ARCH__ >= 800
// sum += 16 x 8 times 8 x 8.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const Basis& a, float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(__float_as_uint(a.part[0])), "r"(__float_as_uint(a.part[1])),
        "r"(__float_as_uint(a.part[2])), "r"(__float_as_uint(a.part[3])), "r"(__float_as_uint(b0)),
        "r"(__float_as_uint(b1)));
}

// v = (F * v)^T, with float's precision.
__device__ __forceinline__ void half_transform(float (&v)[2], const Basis& basis) {
  float sum[4] = {};
  multiply_add(sum, basis, tf32_rest(v[0]), tf32_rest(v[1]));
  multiply_add(sum, basis, tf32_high(v[0]), tf32_high(v[1]));
  v[0] = sum[0] + sum[2];
  v[1] = sum[1] + sum[3];
}

// The same in one product: F rounded to tf32, v truncated. `fast` is fast_basis(basis).
__device__ __forceinline__ void half_transform_fast(float (&v)[2], const Basis& fast) {
  float sum[4] = {};
  multiply_add(sum, fast, v[0], v[1]);
  v[0] = sum[0];
  v[1] = sum[1];
}

__device__ __forceinline__ Basis fast_basis(const Basis& basis) {
  return {{basis.part[0], 0.0f, basis.part[2], 0.0f}};
}

__device__ __forceinline__ void transform(float (&v)[2], const Basis& basis) {
  half_transform(v, basis);
  half_transform(v, basis);
}

__device__ __forceinline__ void transform_fast(float (&v)[2], const Basis& fast) {
  half_transform_fast(v, fast);
  half_transform_fast(v, fast);
}
#else
__device__ __forceinline__ Basis fast_basis(const Basis& basis) {
  return basis;
}

// v = F v F^T. A call: inline, a group's transforms would not fit in the instruction caches.
static __device__ __noinline__ float2 transformed(float2 in, Basis basis) {
  const int lane = threadIdx.x % 32;
  float v[2] = {in.x, in.y};
#pragma unroll
  for (int pass = 0; pass < 2; ++pass) {
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
  }
  return {v[0], v[1]};
}

__device__ __forceinline__ void transform(float (&v)[2], const Basis& basis) {
  const float2 result = transformed({v[0], v[1]}, basis);
  v[0] = result.x;
  v[1] = result.y;
}

__device__ __forceinline__ void transform_fast(float (&v)[2], const Basis& fast) {
  transform(v, fast);
}
#endif

}  // namespace grainless::cuda
