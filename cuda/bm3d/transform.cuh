// SPDX-License-Identifier: MIT
// The patch transform of BM3D on one warp: 8 x 8 patches, two pixels a lane (filter.cu).
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/frame/warp.cuh"
#include "select.cuh"

namespace grainless::cuda {

inline constexpr int kPatchSide = 8;  // smaller patches are filled with zeros

// The matrix units' operands have 11 significant bits: tf32, which float's are truncated to at no
// cost, or, on cards before sm_80, half precision, whose exponents need a Scale.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
inline constexpr uint32_t kTf32Bits = 0xffffe000u;

// What truncation takes from numbers of all sizes alike, in the mean: 2^-11 (1 - 1/2) / ln 2.
inline constexpr float kTruncated = 3.522e-4f;

// A lane's part of a patch transform's matrix F.
struct alignas(16) Basis {
  // F[g][2 t] rounded to tf32, the rest of it, then the same of F[g][2 t + 1].
  float part[4];
};

// F's entry as the fast transforms have it.
__device__ __forceinline__ float fast_entry(float v) {
  return __uint_as_float((__float_as_uint(v) + ~kTf32Bits / 2 + 1) & kTf32Bits);
}
#else
inline constexpr float kTruncated = 0;  // half precision is rounded to

struct alignas(8) Basis {
  // F[g][2 t] and F[g][2 t + 1] rounded to half precision, then kRestScale times the rest of them.
  __half2 part[2];
};

// Keeps what rounding leaves of an entry among the normal numbers.
inline constexpr float kRestScale = 2048;

__device__ __forceinline__ float fast_entry(float v) {
  return __half2float(__float2half_rn(v));
}
#endif

// A value that the compiler can't load again: reading a kernel's arguments at another place in
// every lane takes an instruction a lane.
__device__ __forceinline__ float keep_register(float v) {
  asm volatile("" : "+f"(v));
  return v;
}

__device__ __forceinline__ Basis make_basis(const float* matrix, int lane) {
  const float* row = matrix + lane / 4 * kPatchSide + lane % 4 * 2;
  const float high[2] = {fast_entry(row[0]), fast_entry(row[1])};
  const float rest[2] = {row[0] - high[0], row[1] - high[1]};
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return {{high[0], rest[0], high[1], rest[1]}};
#else
  return {{__floats2half2_rn(high[0], high[1]),
           __floats2half2_rn(kRestScale * rest[0], kRestScale * rest[1])}};
#endif
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// Nothing to do: tf32 has float's exponents.
struct Scale {
  template <int kCount>
  __device__ __forceinline__ Scale(const float (&)[kCount][2], float) {}
  __device__ __forceinline__ void raise(float (&)[2]) const {}
  __device__ __forceinline__ void lower(float (&)[2]) const {}
};

// sum += 16 x 8 times 8 x 8.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const Basis& a, float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(__float_as_uint(a.part[0])), "r"(__float_as_uint(a.part[1])),
        "r"(__float_as_uint(a.part[2])), "r"(__float_as_uint(a.part[3])), "r"(__float_as_uint(b0)),
        "r"(__float_as_uint(b1)));
}

__device__ __forceinline__ float tf32_high(float v) {
  return __uint_as_float(__float_as_uint(v) & kTf32Bits);
}

__device__ __forceinline__ float tf32_rest(float v) {
  return v - tf32_high(v);
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
#else
// A power of two, of a group: it brings the largest pixel to 8 to 16, so that no sum overflows half
// precision (32 patches, 64 pixels of a norm of 1 / 8, twice that for rows that aren't orthogonal,
// and again for what is taken from them) and what rounding leaves is known to 2^-28 of the largest.
class Scale {
 public:
  // The warp's pixels of all patches; `base`: what is taken from them. It is a pilot's, which may
  // be large where all of a group's noisy pixels are black.
  template <int kCount>
  __device__ __forceinline__ Scale(const float (&v)[kCount][2], float base) {
    constexpr int kMantissaBits = 23, kOne = 127, kLargest = 3;
    float most = fabsf(base);
#pragma unroll
    for (int m = 0; m < kCount; ++m) most = fmaxf(fmaxf(most, fabsf(v[m][0])), fabsf(v[m][1]));
    const int exponent = __float_as_int(warp_max(most)) >> kMantissaBits;
    const int up = min(max(2 * kOne + kLargest - exponent, 1), 2 * kOne - 1);
    up_ = __int_as_float(up << kMantissaBits);
    down_ = __int_as_float((2 * kOne - up) << kMantissaBits);
  }
  __device__ __forceinline__ void raise(float (&v)[2]) const {
    v[0] *= up_;
    v[1] *= up_;
  }
  __device__ __forceinline__ void lower(float (&v)[2]) const {
    v[0] *= down_;
    v[1] *= down_;
  }

 private:
  float up_, down_;
};

__device__ __forceinline__ void multiply_add(float (&sum)[4], const Basis& a, __half2 b) {
  const auto bits = [](const __half2& v) { return *reinterpret_cast<const uint32_t*>(&v); };
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(bits(a.part[0])), "r"(bits(a.part[1])), "r"(bits(b)));
}

__device__ __forceinline__ void half_transform(float (&v)[2], const Basis& basis) {
  const __half2 high = __floats2half2_rn(v[0], v[1]);
  const float2 taken = __half22float2(high);
  float sum[4] = {};
  multiply_add(sum, basis, __floats2half2_rn(v[0] - taken.x, v[1] - taken.y));
  multiply_add(sum, basis, high);
  v[0] = fmaf(1 / kRestScale, sum[2], sum[0]);
  v[1] = fmaf(1 / kRestScale, sum[3], sum[1]);
}

__device__ __forceinline__ void half_transform_fast(float (&v)[2], const Basis& fast) {
  float sum[4] = {};
  multiply_add(sum, fast, __floats2half2_rn(v[0], v[1]));
  v[0] = sum[0];
  v[1] = sum[1];
}

__device__ __forceinline__ Basis fast_basis(const Basis& basis) {
  return {{basis.part[0], __half2{}}};
}
#endif

// v = F v F^T, with float's precision.
__device__ __forceinline__ void transform(float (&v)[2], const Basis& basis, const Scale& scale) {
  scale.raise(v);
  half_transform(v, basis);
  half_transform(v, basis);
  scale.lower(v);
}

// The same in one product a side.
__device__ __forceinline__ void transform_fast(float (&v)[2], const Basis& fast,
                                               const Scale& scale) {
  scale.raise(v);
  half_transform_fast(v, fast);
  half_transform_fast(v, fast);
  scale.lower(v);
}

}  // namespace grainless::cuda
