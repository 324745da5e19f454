// SPDX-License-Identifier: MIT
// Matrices of a warp, with float's precision, on the matrix units: of 16 x 8 (Tile), and of 16 x 16
// (Square). Lane 4 g + t holds rows g and g + 8, columns 2 t and 2 t + 1 of a tile. That is how
// sums leave the matrix units and, with columns in another order, which sums over them don't mind,
// how factors enter them: no value changes its lane between products.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "select.cuh"

namespace grainless::cuda {

// (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1)
struct Tile {
  float v[4];
};

// Columns 0 to 7, and 8 to 15.
struct Square {
  Tile half[2];
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// A number as a sum of two with tf32's 11 bits: of the product of two only that of their rests is
// left out, 2^-24 of it. Truncation instead of rounding would leave out 2^-21, all of one sign: too
// much where the signal's energy is 2^20 times the noise's (bm3d_math.h: ridge_of).
struct Factor {
  uint32_t high, rest;

  Factor() = default;
  __device__ __forceinline__ explicit Factor(float v) {
    constexpr uint32_t kTf32Bits = 0xffffe000u;
    high = (__float_as_uint(v) + (~kTf32Bits / 2 + 1)) & kTf32Bits;
    rest = __float_as_uint(v - __uint_as_float(high));
  }
};

// Eight rows of a factor whose transpose is multiplied by: row g, columns 2 t and 2 t + 1.
struct RowFactors {
  Factor v[2];
};

struct TileFactors {
  Factor v[4];

  TileFactors() = default;
  __device__ __forceinline__ explicit TileFactors(const Tile& tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = Factor(tile.v[i]);
  }
  // Rows 0 to 7, or 8 to 15.
  __device__ __forceinline__ RowFactors rows(int half) const {
    return {{v[2 * half], v[2 * half + 1]}};
  }
};

__device__ __forceinline__ void multiply_add_tf32(Tile& sum, const uint32_t (&a)[4], uint32_t b0,
                                                  uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum.v[0]), "+f"(sum.v[1]), "+f"(sum.v[2]), "+f"(sum.v[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// sum += a * b'
__device__ __forceinline__ void multiply_add(Tile& sum, const TileFactors& a, const RowFactors& b) {
  const uint32_t high[4] = {a.v[0].high, a.v[2].high, a.v[1].high, a.v[3].high};
  const uint32_t rest[4] = {a.v[0].rest, a.v[2].rest, a.v[1].rest, a.v[3].rest};
  multiply_add_tf32(sum, rest, b.v[0].high, b.v[1].high);
  multiply_add_tf32(sum, high, b.v[0].rest, b.v[1].rest);
  multiply_add_tf32(sum, high, b.v[0].high, b.v[1].high);
}

// sums[i] += a[i] * b'
template <int kCount>
__device__ __forceinline__ void multiply_add(Tile (&sums)[kCount],
                                             const TileFactors* const (&a)[kCount],
                                             const RowFactors& b) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) multiply_add(sums[i], *a[i], b);
}

// sum += a * b', of 8 columns of the factors each.
__device__ __forceinline__ void multiply_add(Square& sum, const TileFactors& a,
                                             const TileFactors& b) {
  multiply_add(sum.half[0], a, b.rows(0));
  multiply_add(sum.half[1], a, b.rows(1));
}
#else
// Turing's matrix units have half precision's exponents, too few for the inverse of a matrix.
using Factor = float;

struct RowFactors {
  Factor v[2];
};

struct TileFactors {
  Factor v[4];

  TileFactors() = default;
  __device__ __forceinline__ explicit TileFactors(const Tile& tile)
      : v{tile.v[0], tile.v[1], tile.v[2], tile.v[3]} {}
};

// sum += columns[0] and columns[1] of b' times rows[0] and rows[1] of a, a term of a tile's sums.
__device__ __forceinline__ void add_outer(Tile& sum, const float (&rows)[2],
                                          const float (&columns)[2]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) sum.v[i] = fmaf(rows[i / 2], columns[i % 2], sum.v[i]);
}

// Of column k of a tile: the lane's rows; of row factors: rows 2 t and 2 t + 1.
__device__ __forceinline__ void take_rows(const TileFactors& a, int k, float (&rows)[2]) {
  const int from = (threadIdx.x % 32 & ~3) + k / 2;
  rows[0] = __shfl_sync(kFullWarp, a.v[k % 2], from);
  rows[1] = __shfl_sync(kFullWarp, a.v[2 + k % 2], from);
}
__device__ __forceinline__ void take_columns(const float (&b)[2], int k, float (&columns)[2]) {
  const int from = threadIdx.x % 4 * 8 + k / 2;
  columns[0] = __shfl_sync(kFullWarp, b[k % 2], from);
  columns[1] = __shfl_sync(kFullWarp, b[k % 2], from + 4);
}

template <int kCount>
__device__ __forceinline__ void multiply_add(Tile (&sums)[kCount],
                                             const TileFactors* const (&a)[kCount],
                                             const RowFactors& b) {
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    float rows[2], columns[2];
    take_columns(b.v, k, columns);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      take_rows(*a[i], k, rows);
      add_outer(sums[i], rows, columns);
    }
  }
}

__device__ __forceinline__ void multiply_add(Square& sum, const TileFactors& a,
                                             const TileFactors& b) {
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    float rows[2], columns[2];
    take_rows(a, k, rows);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      take_columns({b.v[2 * half], b.v[2 * half + 1]}, k, columns);
      add_outer(sum.half[half], rows, columns);
    }
  }
}
#endif

struct SquareFactors {
  TileFactors half[2];

  __device__ __forceinline__ explicit SquareFactors(const Square& square)
      : half{TileFactors(square.half[0]), TileFactors(square.half[1])} {}
};

// sum + a * b'
__device__ __forceinline__ Square multiply_add(Square sum, const SquareFactors& a,
                                               const SquareFactors& b) {
  multiply_add(sum, a.half[0], b.half[0]);
  multiply_add(sum, a.half[1], b.half[1]);
  return sum;
}

// Of 8 x 8, row g, columns 2 t and 2 t + 1.
__device__ __forceinline__ void transpose(float& even, float& odd) {
  const uint32_t a = __float_as_uint(even), b = __float_as_uint(odd);
  uint32_t low = __byte_perm(a, b, 0x5410), high = __byte_perm(a, b, 0x7632);
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(low));
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(high));
  even = __uint_as_float(__byte_perm(low, high, 0x5410));
  odd = __uint_as_float(__byte_perm(low, high, 0x7632));
}

__device__ __forceinline__ Square transposed(const Square& matrix) {
  Square result = matrix;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      float even = matrix.half[half].v[2 * lower], odd = matrix.half[half].v[2 * lower + 1];
      transpose(even, odd);
      result.half[lower].v[2 * half] = even;
      result.half[lower].v[2 * half + 1] = odd;
    }
  }
  return result;
}

// What the lane holds of the trace.
__device__ __forceinline__ float own_diagonal(const Square& matrix) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const float even = matrix.half[0].v[0] + matrix.half[1].v[2];
  const float odd = matrix.half[0].v[1] + matrix.half[1].v[3];
  return g == 2 * t ? even : g == 2 * t + 1 ? odd : 0.0f;
}

__device__ __forceinline__ void add_to_diagonal(Square& matrix, float v) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      if (g == 2 * t + odd) matrix.half[half].v[2 * half + odd] += v;
    }
  }
}

// A symmetric sweep of pivot 8 * kHalf + 2 * q + kOdd, also of `below`, rows under the matrix of
// which there are 16 * kBelow.
template <int kHalf, int kOdd, int kBelow>
__device__ __forceinline__ void sweep(Square& matrix, Square (&below)[kBelow == 0 ? 1 : kBelow],
                                      int q, float least) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, p = 2 * q + kOdd;
  const float pivot = __shfl_sync(kFullWarp, matrix.half[kHalf].v[2 * kHalf + kOdd], 4 * p + q);
  float row[2][2];  // of the pivot
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    row[half][0] = __shfl_sync(kFullWarp, matrix.half[half].v[2 * kHalf], 4 * p + t);
    row[half][1] = __shfl_sync(kFullWarp, matrix.half[half].v[2 * kHalf + 1], 4 * p + t);
  }
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fmaxf(pivot, least)));
#pragma unroll
  for (int block = 0; block <= kBelow; ++block) {
    Square& rows = block == 0 ? matrix : below[block == 0 ? 0 : block - 1];
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      const bool pivots = block == 0 && lower == kHalf && g == p;
      const float column = __shfl_sync(kFullWarp, rows.half[kHalf].v[2 * lower + kOdd], 4 * g + q);
      const float factor = pivots ? r : column * -r;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
          float& v = rows.half[half].v[2 * lower + odd];
          v = fmaf(factor, row[half][odd], pivots ? 0.0f : v);
          if (half == kHalf && odd == kOdd) v = t == q ? -factor : v;
        }
      }
    }
  }
}

// A symmetric, positive definite matrix with no eigenvalue under `least` becomes minus its inverse;
// what is below it is multiplied by the inverse.
template <int kBelow>
__device__ __forceinline__ void sweep_all(Square& matrix, Square (&below)[kBelow == 0 ? 1 : kBelow],
                                          float least) {
#pragma unroll 1
  for (int q = 0; q < 4; ++q) {
    sweep<0, 0, kBelow>(matrix, below, q, least);
    sweep<0, 1, kBelow>(matrix, below, q, least);
  }
#pragma unroll 1
  for (int q = 0; q < 4; ++q) {
    sweep<1, 0, kBelow>(matrix, below, q, least);
    sweep<1, 1, kBelow>(matrix, below, q, least);
  }
}

// A symmetric matrix of 32 x 32 by blocks; `upper` is that above the diagonal.
struct SymmetricMatrix {
  Square first, lower, upper, second;
};

// Minus the inverse of a positive definite one, of which `first`, `lower` and `second` are given,
// by blocks: with J = -first^-1 and V = -lower first^-1,
//     second' = -(second + V lower')^-1,   upper' = V' second',   first' = J + upper' V.
// V comes from sweeps, too: as a product with J it would be off by as much as J, and the Schur
// complement, which may be 2^20 times smaller than its terms, would drown in that.
__device__ __forceinline__ void invert(SymmetricMatrix& matrix, float least) {
  const SquareFactors lower(matrix.lower);
  Square below[1] = {matrix.lower};
  sweep_all<1>(matrix.first, below, least);
  Square& v = below[0];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (float& entry : v.half[half].v) entry = -entry;
  }
  matrix.second = multiply_add(matrix.second, SquareFactors(v), lower);
  Square none[1];
  sweep_all<0>(matrix.second, none, least);
  const SquareFactors second(matrix.second), turned(transposed(v));
  matrix.lower = multiply_add(Square{}, second, turned);
  matrix.upper = multiply_add(Square{}, turned, second);
  matrix.first = multiply_add(matrix.first, SquareFactors(matrix.upper), turned);
}

}  // namespace grainless::cuda
