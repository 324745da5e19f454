// SPDX-License-Identifier: MIT
#include "kernel.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/nlm/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

// match_value() of engine/boundary/pixel_math.h on a row, to the bit.
void match_row(const float* HWY_RESTRICT value, ptrdiff_t count, const MatchCurve& curve,
               int32_t* HWY_RESTRICT match) {
  const Floats d;
  const auto knee = hn::Set(d, curve.knee);
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto t = hn::Sub(hn::LoadU(d, value + x), hn::Set(d, curve.centre));
    auto a = hn::Abs(t);
    const auto bent = hn::Add(knee, hn::Mul(hn::Sub(a, knee), hn::Set(d, 0.125f)));
    a = hn::Min(hn::IfThenElse(hn::Gt(a, knee), bent, a), hn::Set(d, curve.most));
    const auto signed_value = hn::CopySign(hn::Mul(a, hn::Set(d, curve.scale)), t);
    hn::StoreU(hn::NearestInt(signed_value), Ints(), match + x);
  }
}

// One row of squared differences between the image and its shifted self enters the column sums, the
// row `patch` above leaves them (`square` still holds it).
template <int kChannels>
void update_columns(const NlmBlock& block, ptrdiff_t at, ptrdiff_t shift, ptrdiff_t count,
                    int32_t* HWY_RESTRICT square) {
  const Ints d;
  int32_t* HWY_RESTRICT columns = block.columns;
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    IntVector sum = hn::Zero(d);
    for (int c = 0; c < kChannels; ++c) {
      const int32_t* HWY_RESTRICT p = block.match[c] + at + x;
      const auto difference = hn::Sub(hn::LoadU(d, p), hn::LoadU(d, p + shift));
      sum = hn::Add(sum, hn::Mul(difference, difference));
    }
    const auto change = hn::Sub(sum, hn::Load(d, square + x));
    hn::Store(sum, d, square + x);
    hn::Store(hn::Add(hn::Load(d, columns + x), change), d, columns + x);
  }
}

// Weights of `count` pixels from the column sums that start at columns.
void weigh_row(const NlmWeight& weight, int32_t patch, const int32_t* HWY_RESTRICT columns,
               ptrdiff_t count, float* HWY_RESTRICT weights) {
  const Floats df;
  const Ints di;
  const ptrdiff_t n = hn::Lanes(df);
  const WeightCurve curve = weight_curve(weight);
  for (ptrdiff_t x = 0; x < count; x += 4 * n) {
    const int32_t* HWY_RESTRICT p = columns + x;
    auto a = hn::Load(di, p), b = hn::Load(di, p + n);
    auto c = hn::Load(di, p + 2 * n), e = hn::Load(di, p + 3 * n);
    for (int32_t k = 1; k < patch; ++k) {
      a = hn::Add(a, hn::LoadU(di, p + k));
      b = hn::Add(b, hn::LoadU(di, p + n + k));
      c = hn::Add(c, hn::LoadU(di, p + 2 * n + k));
      e = hn::Add(e, hn::LoadU(di, p + 3 * n + k));
    }
    hn::Store(weight_of(curve, a), df, weights + x);
    hn::Store(weight_of(curve, b), df, weights + x + n);
    hn::Store(weight_of(curve, c), df, weights + x + 2 * n);
    hn::Store(weight_of(curve, e), df, weights + x + 3 * n);
  }
}

// What enters the sums of one row of pixels: the weights of p + D and p - D, a pixel.
struct RowPair {
  const float *ahead, *behind;
  ptrdiff_t shift;  // D in the extended planes
  ptrdiff_t out;    // of the row's first pixel, in the sums
  ptrdiff_t at;     // in the extended planes
  int32_t width;
};

template <int kCount, bool kTotals>
void accumulate(const NlmBlock& block, const NlmSums& sums, const RowPair& row) {
  const Floats d;
  for (ptrdiff_t x = 0; x < row.width; x += hn::Lanes(d)) {
    const auto wa = hn::LoadU(d, row.ahead + x), wb = hn::LoadU(d, row.behind + x);
    for (int c = 0; c < kCount; ++c) {
      const float* v = block.value[sums.first + c] + row.at + x;
      float* HWY_RESTRICT difference = sums.difference[c] + row.out + x;
      const auto own = hn::LoadU(d, v);
      const auto a = hn::Mul(wa, hn::Sub(hn::LoadU(d, v + row.shift), own));
      const auto b = hn::Mul(wb, hn::Sub(hn::LoadU(d, v - row.shift), own));
      hn::Store(hn::Add(hn::Load(d, difference), hn::Add(a, b)), d, difference);
    }
    if (!kTotals) continue;
    float* HWY_RESTRICT total = sums.total + row.out + x;
    float* HWY_RESTRICT largest = sums.largest + row.out + x;
    hn::Store(hn::Add(hn::Load(d, total), hn::Add(wa, wb)), d, total);
    hn::Store(hn::Max(hn::Load(d, largest), hn::Max(wa, wb)), d, largest);
  }
}

template <bool kTotals>
void accumulate_planes(const NlmBlock& block, const NlmSums& sums, const RowPair& row) {
  if (sums.count == 1) accumulate<1, kTotals>(block, sums, row);
  if (sums.count == 2) accumulate<2, kTotals>(block, sums, row);
  if (sums.count == 3) accumulate<3, kTotals>(block, sums, row);
}

// The sums over the width of a patch of weight * share.
void spread_row(const NlmBlock& block, const float* HWY_RESTRICT weights,
                const float* HWY_RESTRICT share, float* HWY_RESTRICT product,
                float* HWY_RESTRICT sums) {
  const Floats d;
  const ptrdiff_t n = hn::Lanes(d);
  for (ptrdiff_t x = 0; x < block.width; x += n) {
    hn::StoreU(hn::Mul(hn::LoadU(d, weights + x), hn::LoadU(d, share + x)), d, product + x);
  }
  for (ptrdiff_t x = 0; x < block.width - block.patch + 1; x += 2 * n) {
    auto a = hn::LoadU(d, product + x), b = hn::LoadU(d, product + x + n);
    for (int32_t k = 1; k < block.patch; ++k) {
      a = hn::Add(a, hn::LoadU(d, product + x + k));
      b = hn::Add(b, hn::LoadU(d, product + x + n + k));
    }
    hn::StoreU(a, d, sums + x);
    hn::StoreU(b, d, sums + x + n);
  }
}

// The sum of the `patch` rows of a ring, from row y on.
void sum_ring(const NlmBlock& block, const float* HWY_RESTRICT ring, int32_t y,
              float* HWY_RESTRICT sums) {
  const Floats d;
  const ptrdiff_t n = hn::Lanes(d);
  for (ptrdiff_t x = 0; x < block.width - block.patch + 1; x += 2 * n) {
    auto a = hn::Zero(d), b = hn::Zero(d);
    for (int32_t k = 0; k < block.patch; ++k) {
      const float* row = ring + (y + k) % block.patch * block.row + x;
      a = hn::Add(a, hn::LoadU(d, row));
      b = hn::Add(b, hn::LoadU(d, row + n));
    }
    hn::StoreU(a, d, sums + x);
    hn::StoreU(b, d, sums + x + n);
  }
}

// Row y of patch centres: its shares in p + D and p - D go to every pixel of the patch. The row of
// pixels whose last patches these are gets them.
void accumulate_patches(const NlmBlock& block, const NlmSums& sums, int32_t y, const RowPair& row) {
  float* ahead = sums.spread;
  float* behind = ahead + block.row;
  float* ahead_ring = behind + block.row;
  float* behind_ring = ahead_ring + block.patch * block.row;
  const ptrdiff_t slot = y % block.patch * block.row;
  spread_row(block, row.ahead, sums.total + row.out, ahead, ahead_ring + slot);
  spread_row(block, row.behind, sums.total + row.out, behind, behind_ring + slot);
  const int32_t first = y - (block.patch - 1);  // the topmost of these patches
  if (first < 0) return;
  sum_ring(block, ahead_ring, first, ahead);
  sum_ring(block, behind_ring, first, behind);
  const int32_t after = (block.patch - 1) / 2;  // a patch reaches so far beyond its centre
  const ptrdiff_t at = (first + after + block.margin) * block.stride + after + block.margin;
  accumulate_planes<false>(
      block, sums,
      {ahead, behind, row.shift, first * block.row, at, block.width - block.patch + 1});
}

// w(p, p + D) and w(p - D, p) = w(p, p - D) enter the sums of row y.
void accumulate_row(const NlmBlock& block, NlmPass pass, const NlmSums& sums, int32_t y, int32_t dx,
                    int32_t dy) {
  const RowPair row{sums.weights + ((y + dy) % (dy + 1)) * block.row + std::max(dx, 0),
                    sums.weights + (y % (dy + 1)) * block.row + std::max(-dx, 0),
                    dy * block.stride + dx,
                    y * block.row,
                    (y + block.margin) * block.stride + block.margin,
                    block.width};
  if (pass == NlmPass::kPixels) accumulate_planes<true>(block, sums, row);
  if (pass == NlmPass::kTotals) accumulate<0, true>(block, sums, row);
  if (pass == NlmPass::kPatches) accumulate_patches(block, sums, y, row);
}

// Weights are needed where p or p + D is in the block: `count` columns from min(-dx, 0) on, where
// the rows of squares, column sums and weights start, and rows -dy .. height - 1. Row y of weights
// is kept in slot (y + dy) % (dy + 1) until row y + dy has used it.
void add_displacement(const NlmBlock& block, NlmPass pass, int32_t dx, int32_t dy) {
  const auto update = block.channels == 1 ? update_columns<1> : update_columns<3>;
  const int32_t count = block.width + std::abs(dx);
  std::memset(block.squares, 0, sizeof(int32_t) * block.row * block.patch);
  std::memset(block.columns, 0, sizeof(int32_t) * block.row);
  // The top left pixel of the first patch, in the extended planes.
  const int32_t left = block.radius + std::min(-dx, 0), top = block.radius - dy;
  for (int32_t i = 0; i < block.height + dy + block.patch - 1; ++i) {
    update(block, (top + i) * block.stride + left, dy * block.stride + dx, count + block.patch - 1,
           block.squares + (i % block.patch) * block.row);
    const int32_t y = i - dy - (block.patch - 1);
    if (y < -dy) continue;
    for (int32_t g = 0; g < block.group_count; ++g) {
      const NlmSums& sums = block.groups[g];
      weigh_row(sums.weight, block.patch, block.columns, count,
                sums.weights + ((y + dy) % (dy + 1)) * block.row);
      if (y >= 0) accumulate_row(block, pass, sums, y, dx, dy);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {

HWY_EXPORT(match_row);
HWY_EXPORT(add_displacement);

void nlm_match_row(const float* value, ptrdiff_t count, const MatchCurve& curve, int32_t* match) {
  HWY_DYNAMIC_DISPATCH(match_row)(value, count, curve, match);
}

void nlm_add_displacement(const NlmBlock& block, NlmPass pass, int32_t dx, int32_t dy) {
  HWY_DYNAMIC_DISPATCH(add_displacement)(block, pass, dx, dy);
}

}  // namespace grainless
#endif  // HWY_ONCE
