// SPDX-License-Identifier: MIT
// Products, inverse and transposes of a group's matrices, for ridge.cpp alone. The order of sums
// does not depend on the width of a vector.
#if defined(GRAINLESS_BM3D_RIDGE_MATRIX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAINLESS_BM3D_RIDGE_MATRIX_INL_H
#undef GRAINLESS_BM3D_RIDGE_MATRIX_INL_H
#else
#define GRAINLESS_BM3D_RIDGE_MATRIX_INL_H
#endif

#include <algorithm>

#include "filter.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DGroup = hn::CappedTag<float, 16>;
using DQuad = hn::CappedTag<float, 4>;

HWY_INLINE int32_t lanes() {
  return static_cast<int32_t>(hn::Lanes(DGroup()));
}

HWY_INLINE constexpr int32_t rounded_up(int32_t x, int32_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

// to[j][i] = from[i][j] for i, j in 0..3; rows are so many floats apart.
HWY_INLINE void turn_tile(const float* HWY_RESTRICT from, int32_t from_row, float* HWY_RESTRICT to,
                          int32_t to_row) {
#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR
  for (int32_t i = 0; i < 4; ++i) {
    for (int32_t j = 0; j < 4; ++j) to[j * to_row + i] = from[i * from_row + j];
  }
#else
  const DQuad d;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_row);
  const auto c = hn::LoadU(d, from + 2 * from_row), e = hn::LoadU(d, from + 3 * from_row);
  const auto ab = hn::InterleaveLower(d, a, b), ab_high = hn::InterleaveUpper(d, a, b);
  const auto ce = hn::InterleaveLower(d, c, e), ce_high = hn::InterleaveUpper(d, c, e);
  hn::StoreU(hn::ConcatLowerLower(d, ce, ab), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, ce, ab), d, to + to_row);
  hn::StoreU(hn::ConcatLowerLower(d, ce_high, ab_high), d, to + 2 * to_row);
  hn::StoreU(hn::ConcatUpperUpper(d, ce_high, ab_high), d, to + 3 * to_row);
#endif
}

// A matrix's rows, so many floats apart.
struct Rows {
  float* at;
  int32_t stride;

  HWY_INLINE float* row(int32_t i) const { return at + i * stride; }
};

// Rows i..i+3 of left' * right, columns from..to-1 (multiples of a vector); left has `terms` rows.
HWY_INLINE void four_rows(const Rows& left, const Rows& right, int32_t terms, int32_t i,
                          int32_t from, int32_t to, const Rows& out) {
  const DGroup d;
  for (int32_t j = from; j < to; j += lanes()) {
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    const float* HWY_RESTRICT factor = left.at + i;
    const float* HWY_RESTRICT row = right.at + j;
    for (int32_t p = 0; p < terms; ++p, factor += left.stride, row += right.stride) {
      const auto values = hn::Load(d, row);
      s0 = hn::Add(s0, hn::Mul(hn::Set(d, factor[0]), values));
      s1 = hn::Add(s1, hn::Mul(hn::Set(d, factor[1]), values));
      s2 = hn::Add(s2, hn::Mul(hn::Set(d, factor[2]), values));
      s3 = hn::Add(s3, hn::Mul(hn::Set(d, factor[3]), values));
    }
    hn::Store(s0, d, out.row(i) + j);
    hn::Store(s1, d, out.row(i + 1) + j);
    hn::Store(s2, d, out.row(i + 2) + j);
    hn::Store(s3, d, out.row(i + 3) + j);
  }
}

// out = x' * x, count x count; x has `terms` rows. Of what is the same twice most is computed once.
HWY_INLINE void gram(const Rows& x, int32_t terms, int32_t count, const Rows& out) {
  const int32_t most = rounded_up(count, lanes()), rows = rounded_up(count, 4);
  for (int32_t i = 0; i < rows; i += 4) {
    four_rows(x, x, terms, i, i / lanes() * lanes(), most, out);
  }
  for (int32_t i = 0; i < rows; i += 4) {
    for (int32_t j = 0; j < i / lanes() * lanes(); j += 4) {
      turn_tile(out.row(j) + i, out.stride, out.row(i) + j, out.stride);
    }
  }
}

// The sweeps of four pivots in their own rows and columns.
struct PivotBlock {
  float at[4][4];
  float reciprocal[4];
  float factor[4][4];  // of pivot k's row, taken from row m: [k][m]

  HWY_INLINE void sweep(const Rows& matrix, int32_t first, float least) {
    for (int32_t m = 0; m < 4; ++m) std::copy_n(matrix.row(first + m) + first, 4, at[m]);
    for (int32_t k = 0; k < 4; ++k) {
      const float r = reciprocal[k] = 1.0f / std::max(at[k][k], least);
      for (int32_t m = 0; m < 4; ++m) factor[k][m] = at[k][m] * r;
      for (int32_t m = 0; m < 4; ++m) {
        if (m == k) continue;
        for (int32_t j = 0; j < 4; ++j) at[m][j] -= factor[k][m] * at[k][j];
        at[m][k] = factor[k][m];
      }
      for (int32_t j = 0; j < 4; ++j) at[k][j] = j == k ? -r : factor[k][j];
    }
  }
};

// Four pivots' rows as each one was when its turn came, and the same over the pivot.
struct PivotRows {
  alignas(64) float turn[4][kMaxGroup], factors[4][kMaxGroup];
};

// Sweeps the pivots first..first+3 of the matrix in their own rows.
HWY_INLINE void sweep_pivots(const Rows& matrix, int32_t first, int32_t columns, float least,
                             PivotRows& pivots) {
  const DGroup d;
  PivotBlock block;
  block.sweep(matrix, first, least);
  const auto factor = [&](int32_t k, int32_t m) HWY_ATTR { return hn::Set(d, block.factor[k][m]); };
  for (int32_t j = 0; j < columns; j += lanes()) {
    auto r0 = hn::Load(d, matrix.row(first) + j), r1 = hn::Load(d, matrix.row(first + 1) + j);
    auto r2 = hn::Load(d, matrix.row(first + 2) + j), r3 = hn::Load(d, matrix.row(first + 3) + j);
    const auto turn = [&](int32_t k, auto& own, auto& a, int32_t m_a, auto& b, int32_t m_b, auto& c,
                          int32_t m_c) HWY_ATTR {
      const auto scaled = hn::Mul(own, hn::Set(d, block.reciprocal[k]));
      a = hn::Sub(a, hn::Mul(factor(k, m_a), own));
      b = hn::Sub(b, hn::Mul(factor(k, m_b), own));
      c = hn::Sub(c, hn::Mul(factor(k, m_c), own));
      hn::Store(own, d, pivots.turn[k] + j);
      hn::Store(scaled, d, pivots.factors[k] + j);
      own = scaled;
    };
    turn(0, r0, r1, 1, r2, 2, r3, 3);
    turn(1, r1, r0, 0, r2, 2, r3, 3);
    turn(2, r2, r0, 0, r1, 1, r3, 3);
    turn(3, r3, r0, 0, r1, 1, r2, 2);
    hn::Store(r0, d, matrix.row(first) + j);
    hn::Store(r1, d, matrix.row(first + 1) + j);
    hn::Store(r2, d, matrix.row(first + 2) + j);
    hn::Store(r3, d, matrix.row(first + 3) + j);
  }
  for (int32_t m = 0; m < 4; ++m) std::copy_n(block.at[m], 4, matrix.row(first + m) + first);
}

// Rows from..to-1 of the matrix less what four pivots take.
HWY_INLINE void sweep_rows(const PivotRows& pivots, int32_t from, int32_t to, int32_t columns,
                           const Rows& matrix) {
  const DGroup d;
  const auto& factors = pivots.factors;
  for (int32_t j = 0; j < columns; j += lanes()) {
    const auto t0 = hn::Load(d, pivots.turn[0] + j), t1 = hn::Load(d, pivots.turn[1] + j);
    const auto t2 = hn::Load(d, pivots.turn[2] + j), t3 = hn::Load(d, pivots.turn[3] + j);
    float* HWY_RESTRICT at = matrix.row(from) + j;
    for (int32_t i = from; i < to; ++i, at += matrix.stride) {
      auto v = hn::Sub(hn::Load(d, at), hn::Mul(hn::Set(d, factors[0][i]), t0));
      v = hn::Sub(v, hn::Mul(hn::Set(d, factors[1][i]), t1));
      v = hn::Sub(v, hn::Mul(hn::Set(d, factors[2][i]), t2));
      hn::Store(hn::Sub(v, hn::Mul(hn::Set(d, factors[3][i]), t3)), d, at);
    }
  }
}

// The matrix becomes minus its inverse, by symmetric sweeps of all its pivots, four at a time (a
// multiple of four); it is positive definite with no eigenvalue under `least`.
HWY_INLINE void invert(const Rows& matrix, int32_t count, float least) {
  const int32_t columns = rounded_up(count, lanes());
  PivotRows pivots;
  for (int32_t first = 0; first < count; first += 4) {
    sweep_pivots(matrix, first, columns, least, pivots);
    sweep_rows(pivots, 0, first, columns, matrix);
    sweep_rows(pivots, first + 4, count, columns, matrix);
    for (int32_t i = 0; i < count; i += 4) {
      if (i == first) continue;
      turn_tile(matrix.row(first) + i, matrix.stride, matrix.row(i) + first, matrix.stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#endif  // GRAINLESS_BM3D_RIDGE_MATRIX_INL_H
