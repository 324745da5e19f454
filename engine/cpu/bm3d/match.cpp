// SPDX-License-Identifier: MIT
// Distances as |a|^2 + |b|^2 - 2 a.b. For one row of references and one of candidates, the inner
// product of each column of the references' patches with the same column at every displacement is
// computed once (a lane a displacement, two rows a multiply-add) and summed along the row: a
// patch's inner product is the difference of two such running sums, however many references share a
// column.
#include "match.h"

#include <algorithm>
#include <bit>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/bm3d/match.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::CappedTag<int32_t, Candidates::kMaxLanes>;
using V32 = hn::Vec<D32>;

// Adds the products of both 16-bit halves of each lane of a and b to sum (and high, which
// RearrangeToOddPlusEven merges).
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void accumulate(V32 a, const uint32_t* HWY_RESTRICT b, V32& sum, V32&) {
  const int32_t pair = hn::GetLane(a), other = static_cast<int32_t>(*b);
  const int32_t low = static_cast<int16_t>(pair) * static_cast<int16_t>(other);
  sum = hn::Add(sum, hn::Set(D32(), low + (pair >> 16) * (other >> 16)));
}
#else
HWY_INLINE void accumulate(V32 a, const uint32_t* HWY_RESTRICT b, V32& sum, V32& high) {
  const D32 d;
  const hn::Repartition<int16_t, D32> d16;
  const V32 vb = hn::LoadU(d, reinterpret_cast<const int32_t*>(b));
  sum = hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, a), hn::BitCast(d16, vb), sum, high);
}
#endif

// Running sums of kVectors vectors of displacements; kRowPairs: of a patch, 0 when not known here.
template <int kVectors, int kRowPairs>
HWY_INLINE void sum_products(const MatchRow& row, int32_t lane) {
  const D32 d;
  const size_t n = hn::Lanes(d);
  const int32_t row_pairs = kRowPairs > 0 ? kRowPairs : (row.stage->patch + 1) / 2;
  const int32_t columns = row.columns, lanes = row.lanes;
  const ptrdiff_t stride = 2 * row.plane->stride();
  const int32_t* HWY_RESTRICT reference = row.reference;
  const uint32_t* HWY_RESTRICT b =
      row.plane->pair(row.xs[0] - row.stage->radius, row.y + row.dy) + lane;
  int32_t* HWY_RESTRICT out = row.products + lane;
  V32 s0 = hn::Zero(d), s1 = s0, s2 = s0, h0 = s0, h1 = s0, h2 = s0;
  for (int32_t x = 0; x <= columns; ++x, out += lanes) {
    hn::StoreU(hn::RearrangeToOddPlusEven(s0, h0), d, out);
    if constexpr (kVectors > 1) hn::StoreU(hn::RearrangeToOddPlusEven(s1, h1), d, out + n);
    if constexpr (kVectors > 2) hn::StoreU(hn::RearrangeToOddPlusEven(s2, h2), d, out + 2 * n);
    if (x == columns) break;
    for (int32_t i = 0; i < row_pairs; ++i) {
      const V32 a = hn::Set(d, reference[i * columns + x]);
      const uint32_t* bi = b + i * stride + x;
      accumulate(a, bi, s0, h0);
      if constexpr (kVectors > 1) accumulate(a, bi + n, s1, h1);
      if constexpr (kVectors > 2) accumulate(a, bi + 2 * n, s2, h2);
    }
  }
}

// Adds the keys of the displacements `index`, counted from -radius on, that may be among the best.
HWY_INLINE void collect(const MatchRow& row, int32_t reference, V32 index, V32 distance,
                        Candidates& candidates) {
  const D32 d;
  const Bm3dStage& stage = *row.stage;
  const int32_t x = row.xs[reference], side = 2 * stage.radius + 1;
  const int32_t first = std::max(0, stage.radius - x);
  const int32_t last = std::min(side - 1, row.image_width - stage.patch - x + stage.radius);
  auto keep = hn::Lt(distance, hn::Set(d, candidates.limit));
  keep = hn::And(keep, hn::Gt(index, hn::Set(d, first - 1)));
  keep = hn::And(keep, hn::Lt(index, hn::Set(d, last + 1)));
  if (row.dy == 0) keep = hn::And(keep, hn::Ne(index, hn::Set(d, stage.radius)));
  const V32 capped = hn::Min(hn::ShiftRightSame(distance, stage.distance_shift),
                             hn::Set(d, static_cast<int32_t>(kMaxKeyDistance)));
  const V32 base = hn::Set(d, 1 + (row.dy + stage.radius) * side);
  const V32 key = hn::Or(hn::ShiftLeft<kKeyIndexBits>(capped), hn::Add(base, index));
  int32_t* out = reinterpret_cast<int32_t*>(candidates.keys) + candidates.count;
  hn::StoreU(hn::Compress(key, keep), d, out);  // CompressStore is slow on Zen 4 and 5
  candidates.count += static_cast<int32_t>(hn::CountTrue(d, keep));
  if (candidates.count > Candidates::kCapacity) candidates.cut(stage);
}

template <int kRowPairs>
HWY_INLINE void sum_all_products(const MatchRow& row) {
  const int32_t n = static_cast<int32_t>(hn::Lanes(D32())), used = 2 * row.stage->radius + 1;
  int32_t lane = 0;
  for (; lane + 2 * n < used; lane += 3 * n) sum_products<3, kRowPairs>(row, lane);
  if (lane + n < used)
    sum_products<2, kRowPairs>(row, lane);
  else if (lane < used)
    sum_products<1, kRowPairs>(row, lane);
}

void match_row(const MatchRow& row) {
  const D32 d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d)), patch = row.stage->patch;
  const int32_t radius = row.stage->radius, used = 2 * radius + 1;
  if (patch == 8)
    sum_all_products<4>(row);
  else
    sum_all_products<0>(row);
  const V32 first = hn::Iota(d, 0);
  for (int32_t i = 0; i < static_cast<int32_t>(row.xs.size()); ++i) {
    const int32_t x = row.xs[i];
    const int32_t* HWY_RESTRICT before = row.products + (x - row.xs[0]) * row.lanes;
    const int32_t* HWY_RESTRICT after = before + patch * row.lanes;
    const int32_t* HWY_RESTRICT energy = row.plane->energy(x - radius, row.y + row.dy);
    const V32 own = hn::Set(d, *row.plane->energy(x, row.y));
    for (int32_t lane = 0; lane < used; lane += n) {
      const V32 product = hn::Sub(hn::LoadU(d, after + lane), hn::LoadU(d, before + lane));
      const V32 squares = hn::Add(hn::LoadU(d, energy + lane), own);
      const V32 distance = hn::Sub(squares, hn::Add(product, product));
      const V32 limit = hn::Set(d, row.candidates[i].limit);
      if (hn::AllFalse(d, hn::Lt(distance, limit))) continue;
      collect(row, i, hn::Add(first, hn::Set(d, lane)), distance, row.candidates[i]);
    }
  }
}

// Keeps the keys up to a bound, which it returns, such that there are at least `wanted` (fewer than
// there were) and at most half as many more.
uint32_t keep_below(Candidates& candidates, int32_t wanted) {
  const hn::RebindToUnsigned<D32> d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d)), count = candidates.count;
  uint32_t* keys = candidates.keys;
  hn::StoreU(hn::Set(d, ~0u), d, keys + count);
  uint32_t below = 0, bound = ~0u - 1;  // fewer than wanted are <= below, too many <= bound
  for (;;) {
    const uint32_t middle = below + (bound - below) / 2;
    const auto last = hn::Set(d, middle);
    int32_t found = 0;
    for (int32_t i = 0; i < count; i += n) {
      const auto above = hn::Gt(hn::LoadU(d, keys + i), last);
      found += n - static_cast<int32_t>(hn::CountTrue(d, above));
    }
    if (found < wanted) {
      below = middle;
    } else {
      bound = middle;
      if (found <= wanted + wanted / 2) break;
    }
  }
  const auto last = hn::Set(d, bound);
  int32_t kept = 0;
  for (int32_t i = 0; i < count; i += n) {
    const auto v = hn::LoadU(d, keys + i);
    const auto keep = hn::Not(hn::Gt(v, last));
    hn::StoreU(hn::Compress(v, keep), d, keys + kept);
    kept += static_cast<int32_t>(hn::CountTrue(d, keep));
  }
  candidates.count = kept;
  return bound;
}

// A few keys, all different: each goes to where as many as are smaller come before it.
void sort_keys(Candidates& candidates) {
  const hn::RebindToUnsigned<D32> d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d)), count = candidates.count;
  uint32_t sorted[Candidates::kCapacity + Candidates::kMaxLanes];
  hn::StoreU(hn::Set(d, ~0u), d, candidates.keys + count);
  for (int32_t i = 0; i < count; ++i) {
    const auto key = hn::Set(d, candidates.keys[i]);
    size_t rank = 0;
    for (int32_t j = 0; j < count; j += n) {
      rank += hn::CountTrue(d, hn::Gt(key, hn::LoadU(d, candidates.keys + j)));
    }
    sorted[rank] = candidates.keys[i];
  }
  std::copy_n(sorted, count, candidates.keys);
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {
namespace {

HWY_EXPORT(match_row);
HWY_EXPORT(keep_below);
HWY_EXPORT(sort_keys);

int32_t rounded_lanes(const Bm3dStage& stage) {
  const int32_t n = Candidates::kMaxLanes;
  return (2 * stage.radius + n) / n * n;
}

// The smallest sum of squares whose key distance exceeds key_distance.
int32_t limit_above(uint32_t key_distance, const Bm3dStage& stage) {
  if (key_distance >= kMaxKeyDistance) return std::numeric_limits<int32_t>::max();
  const uint64_t limit = (uint64_t{key_distance} + 1) << stage.distance_shift;
  return static_cast<int32_t>(std::min<uint64_t>(limit, std::numeric_limits<int32_t>::max()));
}

}  // namespace

void Candidates::reset(const Bm3dStage& stage) {
  keys[0] = 0;  // the reference
  count = 1;
  limit = limit_above(stage.max_distance, stage);
}

void Candidates::cut(const Bm3dStage& stage) {
  if (count <= stage.group) return;
  const uint32_t bound = HWY_DYNAMIC_DISPATCH(keep_below)(*this, stage.group);
  limit = std::min(limit, limit_above(bound >> kKeyIndexBits, stage));
}

void Candidates::finish(const Bm3dStage& stage) {
  cut(stage);
  HWY_DYNAMIC_DISPATCH(sort_keys)(*this);
  count = std::min(count, stage.group);
}

Matcher::Matcher(const Bm3dStage& stage, int32_t max_columns)
    : stage_(stage),
      reference_(static_cast<size_t>(stage.patch + 1) / 2 * max_columns),
      products_(static_cast<size_t>(max_columns + 1) * rounded_lanes(stage)),
      candidates_(max_columns) {}

uint64_t Matcher::bytes(const Bm3dStage& stage, int32_t max_columns) {
  const int64_t columns = max_columns;
  return static_cast<uint64_t>(columns * (stage.patch + 1) / 2 +
                               (columns + 1) * rounded_lanes(stage)) *
             sizeof(int32_t) +
         columns * sizeof(Candidates);
}

void Matcher::copy_references(const MatchPlane& plane, std::span<const int32_t> xs, int32_t y) {
  const int32_t columns = xs.back() - xs.front() + stage_.patch;
  for (int32_t i = 0; i < stage_.patch; i += 2) {
    const uint32_t mask = i + 1 == stage_.patch ? 0xffffu : ~0u;  // odd patches end in half a pair
    const uint32_t* in = plane.pair(xs.front(), y + i);
    int32_t* out = reference_.data() + i / 2 * columns;
    for (int32_t x = 0; x < columns; ++x) out[x] = std::bit_cast<int32_t>(in[x] & mask);
  }
}

PatchGroup Matcher::group(const Candidates& candidates, int32_t x, int32_t y) const {
  const int32_t side = 2 * stage_.radius + 1;
  PatchGroup group{};
  group.count = static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(candidates.count)));
  for (int32_t i = 0; i < group.count; ++i) {
    const int32_t index = static_cast<int32_t>(candidates.keys[i] & ((1u << kKeyIndexBits) - 1));
    group.x[i] = i == 0 ? x : x + (index - 1) % side - stage_.radius;
    group.y[i] = i == 0 ? y : y + (index - 1) / side - stage_.radius;
  }
  return group;
}

void Matcher::find(const MatchPlane& plane, int32_t width, int32_t height,
                   std::span<const int32_t> xs, int32_t y, PatchGroup* groups) {
  copy_references(plane, xs, y);
  for (size_t i = 0; i < xs.size(); ++i) candidates_[i].reset(stage_);
  MatchRow row{};
  row.stage = &stage_;
  row.plane = &plane;
  row.xs = xs;
  row.y = y;
  row.image_width = width;
  row.reference = reference_.data();
  row.columns = xs.back() - xs.front() + stage_.patch;
  row.products = products_.data();
  row.lanes = rounded_lanes(stage_);
  row.candidates = candidates_.data();
  // From the centre outwards: near candidates are the likeliest, and lower the limit early.
  for (int32_t i = 0; i <= 2 * stage_.radius && stage_.group > 1; ++i) {
    row.dy = i % 2 == 0 ? i / 2 : -(i + 1) / 2;
    if (y + row.dy < 0 || y + row.dy > height - stage_.patch) continue;
    HWY_DYNAMIC_DISPATCH(match_row)(row);
  }
  for (size_t i = 0; i < xs.size(); ++i) {
    candidates_[i].finish(stage_);
    groups[i] = group(candidates_[i], xs[i], y);
  }
}

}  // namespace grainless
#endif  // HWY_ONCE
