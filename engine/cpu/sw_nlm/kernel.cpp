// SPDX-License-Identifier: MIT
#include "kernel.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/sw_nlm/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::CappedTag<int32_t, kSwPad / 4>;
using Floats = hn::RebindToFloat<Ints>;
using Halves = hn::Rebind<int16_t, Ints>;
using Shorts = hn::CappedTag<int16_t, kSwPad / 2>;  // of sorting: at least as many lanes
using IntVector = hn::Vec<Ints>;
using HalfVector = hn::Vec<Halves>;

void match_row(const float* HWY_RESTRICT value, ptrdiff_t count, const MatchCurve& curve,
               int16_t* HWY_RESTRICT match) {
  const Floats df;
  const Halves half;
  const auto knee = hn::Set(df, curve.knee);
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(df)) {
    const auto t = hn::Sub(hn::LoadU(df, value + x), hn::Set(df, curve.centre));
    auto a = hn::Abs(t);
    const auto bent = hn::Add(knee, hn::Mul(hn::Sub(a, knee), hn::Set(df, 0.125f)));
    a = hn::Min(hn::IfThenElse(hn::Gt(a, knee), bent, a), hn::Set(df, curve.most));
    const auto q = hn::NearestInt(hn::CopySign(hn::Mul(a, hn::Set(df, curve.scale)), t));
    hn::StoreU(hn::DemoteTo(half, q), half, match + x);
  }
}

HWY_INLINE HalfVector difference(HalfVector a, HalfVector b) {
  const Halves d;
  const auto limit = hn::Set(d, static_cast<int16_t>(kSwDifference));
  return hn::Min(hn::Max(hn::SaturatedSub(a, b), hn::Neg(limit)), limit);
}

HWY_INLINE IntVector square(HalfVector v) {
  const auto wide = hn::PromoteTo(Ints(), v);
  return hn::Mul(wide, wide);
}

// One row of differences between luma and its shifted self enters the column sums, the row `patch`
// above leaves them (`ring` still holds it).
void update_luma(const SwNlmBlock& block, ptrdiff_t at, ptrdiff_t shift, ptrdiff_t count,
                 int16_t* HWY_RESTRICT ring) {
  const Halves d;
  const Ints di;
  const int16_t* HWY_RESTRICT p = block.match[0] + at;
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(di)) {
    const auto now = difference(hn::LoadU(d, p + x), hn::LoadU(d, p + x + shift));
    const auto before = hn::Load(d, ring + x);
    hn::Store(now, d, ring + x);
    const auto sums = hn::Load(d, block.column_sums + x);
    hn::Store(hn::Add(sums, hn::Sub(now, before)), d, block.column_sums + x);
    const auto change = hn::Sub(square(now), square(before));
    const auto squares = hn::Load(di, block.column_squares + x);
    hn::Store(hn::Add(squares, change), di, block.column_squares + x);
  }
}

void update_chroma(const SwNlmBlock& block, ptrdiff_t at, ptrdiff_t shift, ptrdiff_t count,
                   int32_t* HWY_RESTRICT ring) {
  const Halves d;
  const Ints di;
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(di)) {
    IntVector now = hn::Zero(di);
    for (int c = 1; c < kMaxChannels; ++c) {
      const int16_t* HWY_RESTRICT p = block.match[c] + at + x;
      now = hn::Add(now, square(difference(hn::LoadU(d, p), hn::LoadU(d, p + shift))));
    }
    const auto change = hn::Sub(now, hn::Load(di, ring + x));
    hn::Store(now, di, ring + x);
    const auto columns = hn::Load(di, block.chroma_columns + x);
    hn::Store(hn::Add(columns, change), di, block.chroma_columns + x);
  }
}

// n S2 - S1^2 where the gates let a pair through, else 0. Where S2 is within its limit, sums of d
// over any part of the patch fit 16 bits, so S1 may be added up there; elsewhere it does not count.
void gate_row(const SwNlmBlock& block, const SwNlmGate& gate, ptrdiff_t count) {
  const Ints d;
  const Halves half;
  const int32_t patch = block.plan->patch;
  const auto pixels = hn::Set(d, patch * patch);
  const auto bound = hn::Set(d, kSwDifference);
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    IntVector s2 = hn::Zero(d);
    auto sums = hn::Zero(half);
    for (int32_t k = 0; k < patch; ++k) {
      s2 = hn::Add(s2, hn::LoadU(d, block.column_squares + x + k));
      sums = hn::Add(sums, hn::LoadU(half, block.column_sums + x + k));
    }
    // A larger |S1| is rejected either way.
    const auto s1 = hn::Min(hn::Abs(hn::PromoteTo(d, sums)), bound);
    const auto mean = hn::Mul(s1, s1);
    const auto spread = hn::Sub(hn::Mul(pixels, s2), mean);
    auto pass = hn::And(hn::Lt(mean, s2), hn::Not(hn::Gt(s2, hn::Set(d, gate.most_square))));
    pass = hn::And(pass, hn::Gt(spread, hn::Set(d, gate.least_spread)));
    pass = hn::And(pass, hn::Lt(spread, hn::Set(d, gate.most_spread)));
    if (block.channels == 3) {
      IntVector chroma = hn::Zero(d);
      for (int32_t k = 0; k < patch; ++k) {
        chroma = hn::Add(chroma, hn::LoadU(d, block.chroma_columns + x + k));
      }
      pass = hn::And(pass, hn::Not(hn::Gt(chroma, hn::Set(d, gate.most_chroma))));
    }
    hn::Store(hn::IfThenElseZero(pass, spread), d, block.spread + x);
  }
}

// Sorts n vectors, a sample each, lane by lane: Batcher's merge exchange (Knuth, TAOCP 5.2.2 M).
void sort_samples(int16_t* HWY_RESTRICT samples, int32_t n) {
  const Shorts d;
  const ptrdiff_t lanes = hn::Lanes(d);
  const auto highest = static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(n - 1)));
  for (int32_t p = highest; p > 0; p /= 2) {
    int32_t residue = 0, distance = p;
    for (int32_t q = highest; q >= p; q /= 2) {
      for (int32_t start = residue; start + distance < n; start += 2 * p) {
        const int32_t end = std::min(start + p, n - distance);
        for (int32_t i = start; i < end; ++i) {
          int16_t* HWY_RESTRICT low = samples + i * lanes;
          int16_t* HWY_RESTRICT high = low + distance * lanes;
          const auto a = hn::Load(d, low), b = hn::Load(d, high);
          hn::Store(hn::Min(a, b), d, low);
          hn::Store(hn::Max(a, b), d, high);
        }
      }
      distance = q - p;
      residue = p;
    }
  }
}

HWY_INLINE void store_weight(const SwNlmPlan& plan, IntVector order, const int32_t* spread,
                             float* weight) {
  const Ints d;
  const Floats df;
  const auto s = hn::Load(d, spread);
  const auto b = hn::ConvertTo(df, order);
  const auto w = hn::Div(hn::Mul(hn::Mul(b, b), hn::Set(df, plan.norm)), hn::ConvertTo(df, s));
  const auto accepted =
      hn::And(hn::RebindMask(df, hn::Gt(s, hn::Zero(d))), hn::Ge(w, hn::Set(df, plan.least_w)));
  hn::StoreU(hn::IfThenElseZero(accepted, hn::Min(w, hn::Set(df, 1.0f))), df, weight);
}

// The weights of the pairs at x and on, as many as a vector of samples has lanes. The samples'
// order does not matter.
void weigh_vector(const SwNlmBlock& block, ptrdiff_t x, float* weights) {
  const SwNlmPlan& plan = *block.plan;
  const Shorts d;
  const Ints di;
  const ptrdiff_t lanes = hn::Lanes(d);
  int16_t* HWY_RESTRICT sample = block.samples;
  for (int32_t ky = 0; ky < plan.patch; ++ky) {
    const int16_t* HWY_RESTRICT row = block.differences + ky * block.row + x;
    for (int32_t kx = 0; kx < plan.patch; ++kx, sample += lanes) {
      hn::Store(hn::LoadU(d, row + kx), d, sample);
    }
  }
  const int32_t n = plan.patch * plan.patch;
  sort_samples(block.samples, n);
  for (ptrdiff_t part = 0; part < lanes; part += hn::Lanes(di)) {
    const int16_t* HWY_RESTRICT low = block.samples + part;
    const int16_t* HWY_RESTRICT high = low + (n - 1) * lanes;
    IntVector order = hn::Zero(di);
    for (int32_t i = 0; i < n / 2; ++i) {
      const auto gap =
          hn::Sub(hn::Load(Halves(), high - i * lanes), hn::Load(Halves(), low + i * lanes));
      const auto a = hn::Set(di, static_cast<int32_t>(plan.coefficient[i]));
      order = hn::Add(order, hn::Mul(hn::PromoteTo(di, gap), a));
    }
    store_weight(plan, order, block.spread + x + part, weights + x + part);
  }
}

HWY_INLINE bool any_passed(const int32_t* spread) {
  const Ints d;
  IntVector any = hn::Zero(d);
  for (size_t part = 0; part < hn::Lanes(Shorts()); part += hn::Lanes(d)) {
    any = hn::Or(any, hn::Load(d, spread + part));
  }
  return !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
}

void weigh_row(const SwNlmBlock& block, ptrdiff_t count, float* weights) {
  const ptrdiff_t lanes = hn::Lanes(Shorts());
  for (ptrdiff_t x = 0; x < count; x += lanes) {
    if (any_passed(block.spread + x)) {
      weigh_vector(block, x, weights);
    } else {
      std::memset(weights + x, 0, lanes * sizeof(float));
    }
  }
}

// w(p, p + D) and w(p - D, p) = w(p, p - D) enter the sums of row y.
void accumulate_row(const SwNlmBlock& block, const SwNlmSums& sums, int32_t y, int32_t dx,
                    int32_t dy) {
  const Floats d;
  const float* HWY_RESTRICT ahead =
      sums.weights + ((y + dy) % (dy + 1)) * block.row + std::max(dx, 0);
  const float* HWY_RESTRICT behind = sums.weights + (y % (dy + 1)) * block.row + std::max(-dx, 0);
  const ptrdiff_t shift = dy * block.stride + dx, out = y * block.row;
  const ptrdiff_t at = (y + block.margin) * block.stride + block.margin;
  for (ptrdiff_t x = 0; x < block.width; x += hn::Lanes(d)) {
    const auto wa = hn::LoadU(d, ahead + x), wb = hn::LoadU(d, behind + x);
    for (int32_t c = 0; c < sums.count; ++c) {
      const float* v = block.value[sums.first + c] + at + x;
      const auto own = hn::LoadU(d, v);
      const auto a = hn::Mul(wa, hn::Sub(hn::LoadU(d, v + shift), own));
      const auto b = hn::Mul(wb, hn::Sub(hn::LoadU(d, v - shift), own));
      float* sum = sums.difference[c] + out + x;
      hn::Store(hn::Add(hn::Load(d, sum), hn::Add(a, b)), d, sum);
    }
    float* total = sums.total + out + x;
    float* largest = sums.largest + out + x;
    hn::Store(hn::Add(hn::Load(d, total), hn::Add(wa, wb)), d, total);
    hn::Store(hn::Max(hn::Load(d, largest), hn::Max(wa, wb)), d, largest);
  }
}

void clear_columns(const SwNlmBlock& block) {
  const int32_t patch = block.plan->patch;
  std::memset(block.differences, 0, sizeof(int16_t) * block.row * patch);
  std::memset(block.column_sums, 0, sizeof(int16_t) * block.row);
  std::memset(block.column_squares, 0, sizeof(int32_t) * block.row);
  if (block.channels == 1) return;
  std::memset(block.chroma_squares, 0, sizeof(int32_t) * block.row * patch);
  std::memset(block.chroma_columns, 0, sizeof(int32_t) * block.row);
}

// Weights are needed where p or p + D is in the block: `count` columns from min(-dx, 0) on, and
// rows -dy .. height - 1. Row y of weights is kept in slot (y + dy) % (dy + 1) until row y + dy has
// used it.
void add_displacement(const SwNlmBlock& block, int32_t dx, int32_t dy) {
  const SwNlmPlan& plan = *block.plan;
  const int32_t count = block.width + std::abs(dx);
  clear_columns(block);
  // The top left pixel of the first patch, in the extended planes.
  const int32_t left = plan.radius + std::min(-dx, 0), top = plan.radius - dy;
  for (int32_t i = 0; i < block.height + dy + plan.patch - 1; ++i) {
    const ptrdiff_t at = (top + i) * block.stride + left, shift = dy * block.stride + dx;
    const ptrdiff_t slot = i % plan.patch * block.row;
    update_luma(block, at, shift, count + plan.patch - 1, block.differences + slot);
    if (block.channels == 3) {
      update_chroma(block, at, shift, count + plan.patch - 1, block.chroma_squares + slot);
    }
    const int32_t y = i - dy - (plan.patch - 1);
    if (y < -dy) continue;
    for (int32_t g = 0; g < block.group_count; ++g) {
      const SwNlmSums& sums = block.groups[g];
      gate_row(block, sums.gate, count);
      weigh_row(block, count, sums.weights + ((y + dy) % (dy + 1)) * block.row);
      if (y >= 0) accumulate_row(block, sums, y, dx, dy);
    }
  }
}

// Adds the squared differences of one patch pixel to a row of displacements.
HWY_INLINE void add_window_row(HalfVector own, const int16_t* HWY_RESTRICT row, ptrdiff_t count,
                               uint32_t* HWY_RESTRICT sums) {
  const hn::RebindToUnsigned<Ints> d;
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto change = hn::BitCast(d, square(difference(own, hn::LoadU(Halves(), row + x))));
    hn::StoreU(hn::Add(hn::LoadU(d, sums + x), change), d, sums + x);
  }
}

void window(const SwNlmBlock& block, int32_t x, int32_t y, ptrdiff_t pitch, uint32_t* distances) {
  const int32_t radius = block.plan->radius, patch = block.plan->patch, side = 2 * radius + 1;
  std::memset(distances, 0, sizeof(uint32_t) * pitch * side);
  for (int32_t c = 0; c < block.channels; ++c) {
    for (int32_t ky = 0; ky < patch; ++ky) {
      for (int32_t kx = 0; kx < patch; ++kx) {
        const int16_t* corner = block.match[c] + (y + ky) * block.stride + x + kx;
        const auto own = hn::Set(Halves(), corner[radius * block.stride + radius]);
        for (int32_t dy = 0; dy < side; ++dy) {
          add_window_row(own, corner + dy * block.stride, side, distances + dy * pitch);
        }
      }
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
HWY_EXPORT(window);

void sw_nlm_match_row(const float* value, ptrdiff_t count, const MatchCurve& curve,
                      int16_t* match) {
  HWY_DYNAMIC_DISPATCH(match_row)(value, count, curve, match);
}

void sw_nlm_add_displacement(const SwNlmBlock& block, int32_t dx, int32_t dy) {
  HWY_DYNAMIC_DISPATCH(add_displacement)(block, dx, dy);
}

void sw_nlm_window(const SwNlmBlock& block, int32_t x, int32_t y, ptrdiff_t pitch,
                   uint32_t* distances) {
  HWY_DYNAMIC_DISPATCH(window)(block, x, y, pitch, distances);
}

}  // namespace grainless
#endif  // HWY_ONCE
