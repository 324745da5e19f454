// SPDX-License-Identifier: MIT
// Distances as |a|^2 + |b|^2 - 2 a.b. For one row of references and one of candidates, the inner
// product of each column of the references' patches with the same column at every displacement is
// computed once (a lane a displacement, two rows a multiply-add) and summed along the row: a
// patch's inner product is the difference of two such running sums, however many references share a
// column.
#include "match.h"

#include <algorithm>
#include <bit>

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
HWY_INLINE void accumulate(V32 a, V32 b, V32& sum, V32&) {
  const int32_t pair = hn::GetLane(a), other = hn::GetLane(b);
  const int32_t low = static_cast<int16_t>(pair) * static_cast<int16_t>(other);
  sum = hn::Add(sum, hn::Set(D32(), low + (pair >> 16) * (other >> 16)));
}
#else
HWY_INLINE void accumulate(V32 a, V32 b, V32& sum, V32& high) {
  const hn::Repartition<int16_t, D32> d16;
  sum = hn::ReorderWidenMulAccumulate(D32(), hn::BitCast(d16, a), hn::BitCast(d16, b), sum, high);
}
#endif

HWY_INLINE V32 load_pairs(const uint32_t* at) {
  return hn::LoadU(D32(), reinterpret_cast<const int32_t*>(at));
}

// Running sums of kVectors vectors of displacements, of row.dy and, with kRows of 2, of row.dy + 2,
// which compares one pair of rows further with all but the first of the same candidates; kRowPairs:
// of a patch, 0 when not known here. A column's products are summed by themselves, so that columns
// don't wait for one another.
template <int kVectors, int kRows, int kRowPairs>
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
  int32_t* HWY_RESTRICT next = out + row.next_products;
  V32 s0 = hn::Zero(d), s1 = s0, s2 = s0, t0 = s0, t1 = s0, t2 = s0;
  for (int32_t x = 0; x <= columns; ++x, out += lanes, next += lanes) {
    hn::StoreU(s0, d, out);
    if constexpr (kVectors > 1) hn::StoreU(s1, d, out + n);
    if constexpr (kVectors > 2) hn::StoreU(s2, d, out + 2 * n);
    if constexpr (kRows > 1) {
      hn::StoreU(t0, d, next);
      if constexpr (kVectors > 1) hn::StoreU(t1, d, next + n);
      if constexpr (kVectors > 2) hn::StoreU(t2, d, next + 2 * n);
    }
    if (x == columns) break;
    V32 p0 = hn::Zero(d), p1 = p0, p2 = p0, h0 = p0, h1 = p0, h2 = p0;
    V32 q0 = p0, q1 = p0, q2 = p0, g0 = p0, g1 = p0, g2 = p0, before = p0;
    for (int32_t i = 0; i < row_pairs + kRows - 1; ++i) {
      const uint32_t* bi = b + i * stride + x;
      const V32 v0 = load_pairs(bi), v1 = load_pairs(bi + (kVectors > 1 ? n : 0)),
                v2 = load_pairs(bi + (kVectors > 2 ? 2 * n : 0));
      if (kRows > 1 && i > 0) {
        accumulate(before, v0, q0, g0);
        if constexpr (kVectors > 1) accumulate(before, v1, q1, g1);
        if constexpr (kVectors > 2) accumulate(before, v2, q2, g2);
      }
      if (i == row_pairs) break;
      const V32 a = hn::Set(d, reference[i * columns + x]);
      accumulate(a, v0, p0, h0);
      if constexpr (kVectors > 1) accumulate(a, v1, p1, h1);
      if constexpr (kVectors > 2) accumulate(a, v2, p2, h2);
      before = a;
    }
    s0 = hn::Add(s0, hn::RearrangeToOddPlusEven(p0, h0));
    if constexpr (kVectors > 1) s1 = hn::Add(s1, hn::RearrangeToOddPlusEven(p1, h1));
    if constexpr (kVectors > 2) s2 = hn::Add(s2, hn::RearrangeToOddPlusEven(p2, h2));
    if constexpr (kRows > 1) {
      t0 = hn::Add(t0, hn::RearrangeToOddPlusEven(q0, g0));
      if constexpr (kVectors > 1) t1 = hn::Add(t1, hn::RearrangeToOddPlusEven(q1, g1));
      if constexpr (kVectors > 2) t2 = hn::Add(t2, hn::RearrangeToOddPlusEven(q2, g2));
    }
  }
}

// Adds the keys of the displacements from `lane` on, counted from -radius, that are kept.
HWY_INLINE void collect(const MatchRow& row, int32_t lane, V32 distance, hn::Mask<D32> keep,
                        Candidates& candidates) {
  const D32 d;
  const Bm3dStage& stage = *row.stage;
  const V32 capped = hn::Min(hn::ShiftRightSame(distance, stage.distance_shift),
                             hn::Set(d, static_cast<int32_t>(kMaxKeyDistance)));
  const int32_t first = 1 + (row.dy + stage.radius) * (2 * stage.radius + 1) + lane;
  const V32 key = hn::Or(hn::ShiftLeft<kKeyIndexBits>(capped), hn::Iota(d, first));
  int32_t* out = reinterpret_cast<int32_t*>(candidates.keys) + candidates.count;
  hn::StoreU(hn::Compress(key, keep), d, out);  // CompressStore is slow on Zen 4 and 5
  candidates.count += static_cast<int32_t>(hn::CountTrue(d, keep));
}

// Compares kVectors vectors of displacements of all references. One test serves them all: that it
// can't be foreseen costs more than keys that turn out to be none.
template <int kVectors>
HWY_INLINE void compare(const MatchRow& row, int32_t lane) {
  const D32 d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d)), lanes = row.lanes;
  const int32_t radius = row.stage->radius, patch = row.stage->patch;
  const int32_t* HWY_RESTRICT products = row.products + lane;
  const std::span<const int32_t> xs = row.xs;
  const int32_t* HWY_RESTRICT energy = row.plane->energy(xs[0] - radius, row.y + row.dy) + lane;
  // Of the window, and not the reference itself.
  const auto candidate = [&](int32_t at) HWY_ATTR {
    const V32 index = hn::Iota(d, lane + at), self = hn::Set(d, row.dy == 0 ? radius : -1);
    return hn::And(hn::Lt(index, hn::Set(d, 2 * radius + 1)), hn::Ne(index, self));
  };
  const auto c0 = candidate(0), c1 = candidate(n), c2 = candidate(2 * n);
  Candidates* HWY_RESTRICT candidates = row.candidates;
  for (size_t i = 0; i < xs.size(); ++i, ++candidates) {
    const int32_t column = xs[i] - xs[0];
    const V32 own = hn::Set(d, candidates->energy), limit = hn::Set(d, candidates->limit);
    const int32_t* HWY_RESTRICT before = products + column * lanes;
    const auto distance = [&](int32_t at) HWY_ATTR {
      const V32 squares = hn::Add(hn::LoadU(d, energy + column + at), own);
      const V32 product =
          hn::Sub(hn::LoadU(d, before + patch * lanes + at), hn::LoadU(d, before + at));
      return hn::Add(squares, product);
    };
    const V32 d0 = distance(0), d1 = distance(kVectors > 1 ? n : 0),
              d2 = distance(kVectors > 2 ? 2 * n : 0);
    const auto k0 = hn::And(c0, hn::Lt(d0, limit)), k1 = hn::And(c1, hn::Lt(d1, limit)),
               k2 = hn::And(c2, hn::Lt(d2, limit));
    auto any = k0;
    if constexpr (kVectors > 1) any = hn::Or(any, k1);
    if constexpr (kVectors > 2) any = hn::Or(any, k2);
    if (hn::AllFalse(d, any)) continue;
    collect(row, lane, d0, k0, *candidates);
    if constexpr (kVectors > 1) collect(row, lane + n, d1, k1, *candidates);
    if constexpr (kVectors > 2) collect(row, lane + 2 * n, d2, k2, *candidates);
    if (candidates->count > Candidates::kCapacity) candidates->cut(*row.stage);
  }
}

template <int kVectors, int kRows>
HWY_INLINE void match_lanes(const MatchRow& row, int32_t lane) {
  if (row.stage->patch == 8) {
    sum_products<kVectors, kRows, 4>(row, lane);
  } else {
    sum_products<kVectors, kRows, 0>(row, lane);
  }
  compare<kVectors>(row, lane);
  if constexpr (kRows > 1) {
    MatchRow other = row;
    other.dy += 2;
    other.products += row.next_products;
    compare<kVectors>(other, lane);
  }
}

template <int kRows>
HWY_INLINE void match_displacements(const MatchRow& row) {
  const int32_t n = static_cast<int32_t>(hn::Lanes(D32())), used = 2 * row.stage->radius + 1;
  int32_t lane = 0;
  for (; lane + 2 * n < used; lane += 3 * n) match_lanes<3, kRows>(row, lane);
  if (lane + n < used)
    match_lanes<2, kRows>(row, lane);
  else if (lane < used)
    match_lanes<1, kRows>(row, lane);
}

// row.dy, and row.dy + 2.
void match_two_rows(const MatchRow& row) {
  match_displacements<2>(row);
}

void match_row(const MatchRow& row) {
  match_displacements<1>(row);
}

// Keeps the keys up to a bound, which it returns, such that there are at least `wanted` (fewer than
// there were) and at most half as many more. No key is above `bound`.
uint32_t keep_below(Candidates& candidates, int32_t wanted, uint32_t bound) {
  const hn::RebindToUnsigned<D32> d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d)), count = candidates.count;
  uint32_t* keys = candidates.keys;
  hn::StoreU(hn::Set(d, ~0u), d, keys + count);
  uint32_t below = 0;  // fewer than wanted are <= below, too many <= bound
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
HWY_EXPORT(match_two_rows);
HWY_EXPORT(keep_below);
HWY_EXPORT(sort_keys);

constexpr uint32_t kKeyIndices = (1u << kKeyIndexBits) - 1;

int32_t rounded_lanes(const Bm3dStage& stage) {
  const int32_t n = Candidates::kMaxLanes;
  return (2 * stage.radius + n) / n * n;
}

// Both halves of a pair times -2: a distance is a sum of three then.
int32_t doubled_back(uint32_t pair) {
  const uint32_t low = 0 - 2 * (pair & 0xffffu), high = 0 - 2 * (pair >> 16);
  return std::bit_cast<int32_t>((low & 0xffffu) | high << 16);
}

// The smallest sum of squares whose key distance exceeds key_distance.
int32_t limit_above(uint32_t key_distance, const Bm3dStage& stage) {
  if (key_distance >= kMaxKeyDistance) return kLargestDistance;
  const uint64_t limit = (uint64_t{key_distance} + 1) << stage.distance_shift;
  return static_cast<int32_t>(std::min<uint64_t>(limit, kLargestDistance));
}

}  // namespace

void Candidates::reset(const Bm3dStage& stage, int32_t reference_energy) {
  energy = reference_energy;
  keys[0] = 0;  // the reference
  count = 1;
  limit = limit_above(stage.max_distance, stage);
}

void Candidates::cut(const Bm3dStage& stage) {
  if (count <= stage.group) return;
  const auto largest = static_cast<uint32_t>((limit - 1) >> stage.distance_shift);
  const uint32_t most = std::min(largest, kMaxKeyDistance) << kKeyIndexBits | kKeyIndices;
  const uint32_t bound = HWY_DYNAMIC_DISPATCH(keep_below)(*this, stage.group, most);
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
      next_products_(static_cast<ptrdiff_t>(max_columns + 1) * rounded_lanes(stage)),
      products_(static_cast<size_t>(2 * next_products_)),
      candidates_(max_columns),
      displacements_{{0, 0}} {
  for (int32_t y = -stage.radius; y <= stage.radius; ++y) {
    for (int32_t x = -stage.radius; x <= stage.radius; ++x) displacements_.push_back({x, y});
  }
}

uint64_t Matcher::bytes(const Bm3dStage& stage, int32_t max_columns) {
  const int64_t columns = max_columns, side = 2 * stage.radius + 1;
  return static_cast<uint64_t>(columns * (stage.patch + 1) / 2 +
                               2 * (columns + 1) * rounded_lanes(stage)) *
             sizeof(int32_t) +
         columns * sizeof(Candidates) + (1 + side * side) * sizeof(Displacement);
}

void Matcher::copy_references(const MatchPlane& plane, std::span<const int32_t> xs, int32_t y) {
  const int32_t columns = xs.back() - xs.front() + stage_.patch;
  for (int32_t i = 0; i < stage_.patch; i += 2) {
    const uint32_t mask = i + 1 == stage_.patch ? 0xffffu : ~0u;  // odd patches end in half a pair
    const uint32_t* in = plane.pair(xs.front(), y + i);
    int32_t* out = reference_.data() + i / 2 * columns;
    for (int32_t x = 0; x < columns; ++x) out[x] = doubled_back(in[x] & mask);
  }
}

PatchGroup Matcher::group(const Candidates& candidates, int32_t x, int32_t y) const {
  PatchGroup group;
  group.count = static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(candidates.count)));
  for (int32_t i = 0; i < group.count; ++i) {
    const Displacement& by = displacements_[candidates.keys[i] & kKeyIndices];
    group.x[i] = x + by.x;
    group.y[i] = y + by.y;
  }
  return group;
}

void Matcher::find(const MatchPlane& plane, int32_t height, std::span<const int32_t> xs, int32_t y,
                   PatchGroup* groups) {
  copy_references(plane, xs, y);
  for (size_t i = 0; i < xs.size(); ++i) candidates_[i].reset(stage_, *plane.energy(xs[i], y));
  MatchRow row{};
  row.stage = &stage_;
  row.plane = &plane;
  row.xs = xs;
  row.y = y;
  row.reference = reference_.data();
  row.columns = xs.back() - xs.front() + stage_.patch;
  row.products = products_.data();
  row.lanes = rounded_lanes(stage_);
  row.candidates = candidates_.data();
  row.next_products = next_products_;
  const int32_t first = std::max(-stage_.radius, -y);
  const int32_t last = std::min(stage_.radius, height - stage_.patch - y);
  const auto match = [&](int32_t dy) {
    const bool two = dy >= first && dy + 2 <= last;
    row.dy = dy >= first ? dy : dy + 2;
    if (two) {
      HWY_DYNAMIC_DISPATCH(match_two_rows)(row);
    } else if (row.dy >= first && row.dy <= last) {
      HWY_DYNAMIC_DISPATCH(match_row)(row);
    }
  };
  // From the centre outwards, by four rows: near candidates are the likeliest, and lower the limit
  // early.
  for (int32_t i = 0; 2 * i <= stage_.radius + 2 && stage_.group > 1; ++i) {
    const int32_t block = i % 2 == 0 ? -2 - 2 * i : 2 * i;
    match(block);
    match(block + 1);
  }
  for (size_t i = 0; i < xs.size(); ++i) {
    candidates_[i].finish(stage_);
    groups[i] = group(candidates_[i], xs[i], y);
  }
}

}  // namespace grainless
#endif  // HWY_ONCE
