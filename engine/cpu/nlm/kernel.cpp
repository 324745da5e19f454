// SPDX-License-Identifier: MIT
#include "kernel.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/nlm/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

using Shorts = hn::Repartition<int16_t, Ints>;
using ShortVector = hn::Vec<Shorts>;

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

// sum + a * b of the halves of each lane.
HWY_INLINE IntVector add_products(IntVector sum, ShortVector a, ShortVector b) {
#if HWY_ARCH_X86
  IntVector unused = sum;
  return hn::ReorderWidenMulAccumulate(Ints(), a, b, sum, unused);  // in order here
#else
  return hn::Add(sum, hn::WidenMulPairwiseAdd(Ints(), a, b));
#endif
}

// A row of squared differences between the image and its kRun shifted selves enters the column
// sums, and the one `patch` above leaves them, which the first rows of a run don't have.
template <int kChannels, int kRun, bool kLeaves>
void update_columns(const NlmBlock& block, ptrdiff_t at, ptrdiff_t shift, ptrdiff_t count) {
  const Ints d;
  const Shorts ds;
  const int32_t* HWY_RESTRICT planes[kChannels];
  for (int c = 0; c < kChannels; ++c) planes[c] = block.match[c] + at;
  int32_t* HWY_RESTRICT columns = block.columns;
  const ptrdiff_t row = block.row;
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    for (int k = 0; k < kRun; ++k) {
      int32_t* HWY_RESTRICT column = columns + k * row + x;
      IntVector sum = hn::Load(d, column);
      for (int c = 0; c < kChannels; ++c) {
        const int32_t* HWY_RESTRICT p = planes[c] + x;
        const auto own = hn::BitCast(ds, hn::LoadU(d, p));
        const auto other = hn::BitCast(ds, hn::LoadU(d, p + shift + k));
        const auto difference = hn::Sub(own, other);
        const auto upper = kLeaves ? hn::Neg(difference) : hn::Zero(ds);
        sum = add_products(sum, difference, hn::OddEven(upper, difference));
      }
      hn::Store(sum, d, column);
    }
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// `now` moved up by kBy lanes, the upper ones of `before` below it. An unaligned vector of 64 bytes
// costs two loads, this one operation.
template <int kBy>
HWY_INLINE IntVector shifted(IntVector before, IntVector now) {
  const Ints d;
  const auto from = hn::Iota(d, int32_t(hn::MaxLanes(d)) - kBy);
  return hn::TwoTablesLookupLanes(d, before, now, hn::IndicesFromVec(d, from));
}

// exponents_of for patches of 3, 5, 7 and 9, from sums of two and four columns.
template <int kPatch>
void shifted_exponents(const WeightCurve& curve, const int32_t* HWY_RESTRICT columns,
                       ptrdiff_t count, float* HWY_RESTRICT exponents) {
  const Ints d;
  auto before1 = hn::Zero(d), before2 = before1, before4 = before1;
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto sum1 = hn::Load(d, columns + x);
    const auto sum2 = hn::Add(sum1, shifted<1>(before1, sum1));
    auto box = sum2;
    if constexpr (kPatch > 4) {
      const auto sum4 = hn::Add(sum2, shifted<2>(before2, sum2));
      box = sum4;
      if constexpr (kPatch == 7) box = hn::Add(box, shifted<4>(before2, sum2));
      if constexpr (kPatch == 9) box = hn::Add(box, shifted<4>(before4, sum4));
      before4 = sum4;
    }
    box = hn::Add(box, shifted<kPatch - 1>(before1, sum1));
    before1 = sum1;
    before2 = sum2;
    hn::Store(exponent_of(curve, box), Floats(), exponents + x);
  }
}
#endif

// Exponents of the boxes that end at each of `count` columns.
void exponents_of(const WeightCurve& curve, int32_t patch, const int32_t* HWY_RESTRICT columns,
                  ptrdiff_t count, float* HWY_RESTRICT exponents) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (patch == 3) return shifted_exponents<3>(curve, columns, count, exponents);
  if (patch == 5) return shifted_exponents<5>(curve, columns, count, exponents);
  if (patch == 7) return shifted_exponents<7>(curve, columns, count, exponents);
  if (patch == 9) return shifted_exponents<9>(curve, columns, count, exponents);
#endif
  const Ints d;
  const ptrdiff_t n = hn::Lanes(d);
  for (ptrdiff_t x = 0; x < count; x += 2 * n) {
    const int32_t* HWY_RESTRICT p = columns + x;
    auto a = hn::Load(d, p), b = hn::Load(d, p + n);
    for (int32_t k = 1; k < patch; ++k) {
      a = hn::Add(a, hn::LoadU(d, p - k));
      b = hn::Add(b, hn::LoadU(d, p + n - k));
    }
    hn::Store(exponent_of(curve, a), Floats(), exponents + x);
    hn::Store(exponent_of(curve, b), Floats(), exponents + x + n);
  }
}

// Weights of the boxes that end at each of `count` columns. In two loops: each is a chain of
// operations that wait for one another, and the processor looks ahead over more pixels of a short
// one.
void weigh_row(const NlmWeight& weight, int32_t patch, const int32_t* HWY_RESTRICT columns,
               ptrdiff_t count, float* HWY_RESTRICT weights) {
  const Floats d;
  const WeightCurve curve = weight_curve(weight);
  exponents_of(curve, patch, columns, count, weights);
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    hn::Store(weight_of(curve, hn::Load(d, weights + x)), d, weights + x);
  }
}

// What enters the sums of one row of pixels: the weights of p + D and p - D, a pixel; those of
// the next displacement of a run are in the row `next` further on.
struct RowPair {
  const float *ahead, *behind;
  ptrdiff_t next;   // the next displacement's p - D is one pixel to the left, too
  ptrdiff_t shift;  // D in the extended planes
  ptrdiff_t out;    // of the row's first pixel, in the sums
  ptrdiff_t at;     // in the extended planes
  int32_t width;
};

// A plane's row of pixels, and its sums.
struct PlaneRow {
  const float* v;
  float* HWY_RESTRICT difference;

  PlaneRow(const NlmBlock& block, const NlmSums& sums, const RowPair& row, int32_t c)
      : v(c < sums.count ? block.value[sums.first + c] + row.at : nullptr),
        difference(c < sums.count ? sums.difference[c] + row.out : nullptr) {}
};

// sum + ahead * (v(p + D) - v(p)) + behind * (v(p - D) - v(p)).
HWY_INLINE FloatVector with_pair(FloatVector sum, FloatVector ahead, FloatVector behind,
                                 const float* v, ptrdiff_t shift) {
  const Floats d;
  const auto own = hn::LoadU(d, v);
  const auto a = hn::Mul(ahead, hn::Sub(hn::LoadU(d, v + shift), own));
  const auto b = hn::Mul(behind, hn::Sub(hn::LoadU(d, v - shift), own));
  return hn::Add(sum, hn::Add(a, b));
}

template <int kCount, bool kTotals, int kRun>
void accumulate(const NlmBlock& block, const NlmSums& sums, const RowPair& row) {
  const Floats d;
  const Ints di;
  const PlaneRow p0(block, sums, row, 0), p1(block, sums, row, 1), p2(block, sums, row, 2);
  float* HWY_RESTRICT totals = sums.total + row.out;
  float* HWY_RESTRICT largest = sums.largest + row.out;
  const float *all_ahead = row.ahead, *all_behind = row.behind;
  const ptrdiff_t width = row.width, shift = row.shift, next = row.next;
  for (ptrdiff_t x = 0; x < width; x += hn::Lanes(d)) {
    auto sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, total = sum0;
    auto most = hn::Zero(di);
    if constexpr (kCount > 0) sum0 = hn::Load(d, p0.difference + x);
    if constexpr (kCount > 1) sum1 = hn::Load(d, p1.difference + x);
    if constexpr (kCount > 2) sum2 = hn::Load(d, p2.difference + x);
    if constexpr (kTotals) {
      total = hn::Load(d, totals + x);
      most = hn::BitCast(di, hn::Load(d, largest + x));
    }
    const float *ahead = all_ahead + x, *behind = all_behind + x;
    for (int k = 0; k < kRun; ++k, ahead += next, behind += next - 1) {
      const auto wa = hn::LoadU(d, ahead), wb = hn::LoadU(d, behind);
      if constexpr (kCount > 0) sum0 = with_pair(sum0, wa, wb, p0.v + x, shift + k);
      if constexpr (kCount > 1) sum1 = with_pair(sum1, wa, wb, p1.v + x, shift + k);
      if constexpr (kCount > 2) sum2 = with_pair(sum2, wa, wb, p2.v + x, shift + k);
      if constexpr (kTotals) {
        total = hn::Add(total, hn::Add(wa, wb));
        // Weights are not negative: as integers they have the same order.
        most = hn::Max(most, hn::Max(hn::BitCast(di, wa), hn::BitCast(di, wb)));
      }
    }
    if constexpr (kCount > 0) hn::Store(sum0, d, p0.difference + x);
    if constexpr (kCount > 1) hn::Store(sum1, d, p1.difference + x);
    if constexpr (kCount > 2) hn::Store(sum2, d, p2.difference + x);
    if constexpr (kTotals) {
      hn::Store(total, d, totals + x);
      hn::Store(hn::BitCast(d, most), d, largest + x);
    }
  }
}

template <bool kTotals, int kRun>
void accumulate_planes(const NlmBlock& block, const NlmSums& sums, const RowPair& row) {
  if (sums.count == 1) accumulate<1, kTotals, kRun>(block, sums, row);
  if (sums.count == 2) accumulate<2, kTotals, kRun>(block, sums, row);
  if (sums.count == 3) accumulate<3, kTotals, kRun>(block, sums, row);
}

// To as many bits as a patch's share has on every backend (kNlmShareRest).
HWY_INLINE FloatVector rounded_share(FloatVector share) {
  const Floats d;
  const Ints di;
  const auto raised = hn::Add(hn::BitCast(di, share), hn::Set(di, kNlmShareRest / 2 + 1));
  return hn::BitCast(d, hn::And(raised, hn::Set(di, ~kNlmShareRest)));
}

// The sums over the width of a patch of weight * share.
void spread_row(const NlmBlock& block, const float* HWY_RESTRICT weights,
                const float* HWY_RESTRICT share, float* HWY_RESTRICT product,
                float* HWY_RESTRICT sums) {
  const Floats d;
  const ptrdiff_t n = hn::Lanes(d);
  for (ptrdiff_t x = 0; x < block.width; x += n) {
    const auto exact = hn::Mul(hn::LoadU(d, weights + x), hn::LoadU(d, share + x));
    hn::StoreU(rounded_share(exact), d, product + x);
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
  accumulate_planes<false, 1>(
      block, sums,
      {ahead, behind, 0, row.shift, first * block.row, at, block.width - block.patch + 1});
}

// Rows of column sums and weights of a run. Weights are needed where p or p + D is in the block for
// a D of the run; a weight stands at the last column of its patch.
struct Columns {
  int32_t origin;  // where the weight of the block's first column stands: aligned
  int32_t count;

  Columns(const NlmBlock& block, const NlmRun& run) {
    const int32_t before = std::max(run.dx + run.count - 1, 0) + block.patch - 1;
    origin = (before + kNlmAlignment - 1) / kNlmAlignment * kNlmAlignment;
    count = origin + block.width + std::max(-run.dx, 0);
  }
};

// w(p, p + D) and w(p - D, p) = w(p, p - D) enter the sums of row y.
template <int kRun>
void accumulate_row(const NlmBlock& block, NlmPass pass, const NlmSums& sums, int32_t y,
                    const NlmRun& run) {
  const int32_t dx = run.dx, dy = run.dy, own = Columns(block, run).origin;
  const RowPair row{sums.weights + ((y + dy) % (dy + 1)) * block.row + own,
                    sums.weights + (y % (dy + 1)) * block.row + own - dx,
                    (block.radius + 1) * block.row,
                    dy * block.stride + dx,
                    y * block.row,
                    (y + block.margin) * block.stride + block.margin,
                    block.width};
  if (pass == NlmPass::kPixels) accumulate_planes<true, kRun>(block, sums, row);
  if (pass == NlmPass::kTotals) accumulate<0, true, kRun>(block, sums, row);
  if (pass == NlmPass::kPatches) accumulate_patches(block, sums, y, row);
}

// Needed are the weights of rows -dy .. height - 1. Row y of them is kept in slot
// (y + dy) % (dy + 1) until row y + dy has used it.
template <int kRun, int kChannels>
void add_run(const NlmBlock& block, NlmPass pass, const NlmRun& run) {
  const Columns columns(block, run);
  const int32_t dy = run.dy;
  std::memset(block.columns, 0, sizeof(int32_t) * block.row * kRun);
  // The first column of the top row of the first patches, in the extended planes.
  const int32_t left = block.radius + block.patch - 1 - columns.origin, top = block.radius - dy;
  for (int32_t i = 0; i < block.height + dy + block.patch - 1; ++i) {
    const auto update = i < block.patch ? update_columns<kChannels, kRun, false>
                                        : update_columns<kChannels, kRun, true>;
    update(block, (top + i) * block.stride + left, dy * block.stride + run.dx, columns.count);
    const int32_t y = i - dy - (block.patch - 1);
    if (y < -dy) continue;
    for (int32_t g = 0; g < block.group_count; ++g) {
      const NlmSums& sums = block.groups[g];
      for (int k = 0; k < kRun; ++k) {
        weigh_row(sums.weight, block.patch, block.columns + k * block.row, columns.count,
                  sums.weights + (k * (block.radius + 1) + (y + dy) % (dy + 1)) * block.row);
      }
      if (y >= 0) accumulate_row<kRun>(block, pass, sums, y, run);
    }
  }
}

template <int kRun>
void add_run(const NlmBlock& block, NlmPass pass, const NlmRun& run) {
  if (block.channels == 1) add_run<kRun, 1>(block, pass, run);
  if (block.channels == 3) add_run<kRun, 3>(block, pass, run);
}

void add_displacements(const NlmBlock& block, NlmPass pass, const NlmRun& run) {
  if (run.count == 1) add_run<1>(block, pass, run);
  if (run.count == kNlmRun) add_run<kNlmRun>(block, pass, run);
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {

HWY_EXPORT(match_row);
HWY_EXPORT(add_displacements);

void nlm_match_row(const float* value, ptrdiff_t count, const MatchCurve& curve, int32_t* match) {
  HWY_DYNAMIC_DISPATCH(match_row)(value, count, curve, match);
}

void nlm_add_displacements(const NlmBlock& block, NlmPass pass, const NlmRun& run) {
  HWY_DYNAMIC_DISPATCH(add_displacements)(block, pass, run);
}

}  // namespace grainless
#endif  // HWY_ONCE
