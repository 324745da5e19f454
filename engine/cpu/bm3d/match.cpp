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

// Running sums of kVectors vectors of displacements, of the rows row.dy, row.dy + 2 and so on: the
// same candidates, compared with pairs of rows one further up each time, so that a load serves up
// to kRows of them. Rows are taken one after the other by recursion: the compiler keeps in
// registers what is indexed by constants from the start.
template <int kVectors, int kRows>
struct RunningSums {
  V32 low[kRows][kVectors], high[kRows][kVectors];  // RearrangeToOddPlusEven merges them

  // GCC compiles one that isn't written for the processor's basic instructions, and NEON's vectors
  // for others.
  HWY_INLINE RunningSums() {}

  template <int r = 0>
  HWY_INLINE void clear() {
    for (int k = 0; k < kVectors; ++k) low[r][k] = high[r][k] = hn::Zero(D32());
    if constexpr (r + 1 < kRows) clear<r + 1>();
  }
  template <int r = 0>
  HWY_INLINE void store(int32_t* HWY_RESTRICT to) const {
    const D32 d;
    for (int k = 0; k < kVectors; ++k) {
      hn::Store(hn::RearrangeToOddPlusEven(low[r][k], high[r][k]), d, to);
      to += hn::Lanes(d);
    }
    if constexpr (r + 1 < kRows) store<r + 1>(to);
  }
};

// A column of the references' patches: its first pair, and from there to the next; of the
// candidates the same.
struct MatchColumn {
  const int32_t* reference;
  ptrdiff_t reference_stride;
  const uint32_t* candidates;
  ptrdiff_t candidate_stride;
};

// Adds the products of the i-th pair of candidates.
template <int r, int kVectors, int kRows>
HWY_INLINE void add_pair(const MatchColumn& column, int32_t row_pairs, int32_t i,
                         const V32 (&candidates)[kVectors], RunningSums<kVectors, kRows>& sums) {
  if (i >= r && i - r < row_pairs) {
    const V32 a = hn::Set(D32(), column.reference[(i - r) * column.reference_stride]);
    for (int k = 0; k < kVectors; ++k)
      accumulate(a, candidates[k], sums.low[r][k], sums.high[r][k]);
  }
  if constexpr (r + 1 < kRows) add_pair<r + 1>(column, row_pairs, i, candidates, sums);
}

template <int kVectors, int kRows>
HWY_INLINE void add_column(const MatchColumn& column, int32_t row_pairs,
                           RunningSums<kVectors, kRows>& sums) {
  const ptrdiff_t n = static_cast<ptrdiff_t>(hn::Lanes(D32()));
  for (int32_t i = 0; i < row_pairs + kRows - 1; ++i) {
    const uint32_t* at = column.candidates + i * column.candidate_stride;
    V32 v[kVectors];
    for (int k = 0; k < kVectors; ++k) v[k] = load_pairs(at + k * n);
    add_pair<0>(column, row_pairs, i, v, sums);
  }
}

// One reference, compared with kRows rows: energies of the first one's candidates and from there to
// the next row's; the sums before it; the index of the first candidate and what the next row's
// adds.
struct NearTest {
  const int32_t* energies;
  ptrdiff_t stride;
  const int32_t* before;
  V32 own, limit, window;
  int32_t reference, index, row_indices;
};

// Whether any of a vector's candidates is near enough can't be foreseen, so no branch depends on
// it: distances are stored in any case, and overwritten when none is.
template <int r, int kVectors, int kRows>
HWY_INLINE void test_rows(const NearTest& test, const RunningSums<kVectors, kRows>& sums,
                          int32_t* HWY_RESTRICT distances, NearVector* HWY_RESTRICT near,
                          int32_t& kept) {
  const D32 d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d));
  const int32_t* HWY_RESTRICT before = test.before + r * kVectors * n;
  const int32_t* HWY_RESTRICT energies = test.energies + r * test.stride;
  for (int k = 0; k < kVectors; ++k) {
    const V32 sum = hn::RearrangeToOddPlusEven(sums.low[r][k], sums.high[r][k]);
    const V32 product = hn::Sub(sum, hn::Load(d, before + k * n));
    const V32 distance = hn::Add(hn::Add(hn::LoadU(d, energies + k * n), test.own), product);
    const auto inside = hn::Lt(hn::Iota(d, k * n), test.window);
    const V32 known = hn::IfThenElse(inside, distance, test.limit);
    hn::Store(known, d, distances + kept * n);
    near[kept] = {test.reference, test.index + r * test.row_indices + k * n};
    kept += hn::AllFalse(d, hn::Lt(known, test.limit)) ? 0 : 1;
  }
  if constexpr (r + 1 < kRows) test_rows<r + 1>(test, sums, distances, near, kept);
}

// Compares kVectors vectors of displacements and kRows rows of all references. Returns how many
// vectors were kept. kRowPairs: of a patch, 0 when not known here.
template <int kVectors, int kRows, int kRowPairs>
HWY_INLINE int32_t find_near(const MatchRow& row, int32_t lane) {
  const D32 d;
  const ptrdiff_t n = static_cast<ptrdiff_t>(hn::Lanes(d)), stride = 2 * row.plane->stride();
  const int32_t radius = row.stage->radius;
  const int32_t patch = kRowPairs > 0 ? 2 * kRowPairs : row.stage->patch;
  const int32_t first = row.xs[0], count = static_cast<int32_t>(row.xs.size());
  const int32_t* HWY_RESTRICT xs = row.xs.data();
  const Candidates* HWY_RESTRICT references = row.candidates;
  int32_t* const slots = row.sums;
  int32_t* const distances = row.distances;
  NearVector* const near = row.near;
  const int32_t last_slot = row.last_slot;
  const V32 window = hn::Set(d, 2 * radius + 1 - lane);
  const int32_t index = 1 + (row.dy + radius) * (2 * radius + 1) + lane;
  MatchColumn column{row.reference, row.columns,
                     row.plane->pair(first - radius, row.y + row.dy) + lane, stride};
  const int32_t* HWY_RESTRICT energies =
      row.plane->energy(first - radius, row.y + row.dy) + lane - patch;
  RunningSums<kVectors, kRows> sums;
  sums.clear();
  int32_t begun = 0, ended = 0, kept = 0;
  for (int32_t x = first;; ++x, ++energies, ++column.reference, ++column.candidates) {
    if (x == xs[ended] + patch) {
      const NearTest test{energies,
                          stride,
                          slots + (ended & last_slot) * (kRows * kVectors * n),
                          hn::Set(d, references[ended].energy),
                          hn::Set(d, references[ended].limit),
                          window,
                          ended,
                          index,
                          2 * (2 * radius + 1)};
      test_rows<0>(test, sums, distances, near, kept);
      if (++ended == count) return kept;
    }
    if (begun < count && x == xs[begun]) {
      sums.store(slots + (begun & last_slot) * (kRows * kVectors * n));
      ++begun;
    }
    add_column(column, kRowPairs > 0 ? kRowPairs : (patch + 1) / 2, sums);
  }
}

// Adds the keys of the candidates that find_near kept.
HWY_INLINE void collect_near(const MatchRow& row, int32_t kept) {
  const D32 d;
  const Bm3dStage& stage = *row.stage;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d)), radius = stage.radius;
  const int32_t* HWY_RESTRICT distances = row.distances;
  const V32 self = hn::Set(d, 1 + radius * (2 * radius + 1) + radius);
  const V32 largest = hn::Set(d, static_cast<int32_t>(kMaxKeyDistance));
  const int shift = stage.distance_shift;
  for (int32_t i = 0; i < kept; ++i, distances += n) {
    Candidates& candidates = row.candidates[row.near[i].reference];
    const V32 distance = hn::Load(d, distances), index = hn::Iota(d, row.near[i].index);
    const auto near = hn::Lt(distance, hn::Set(d, candidates.limit));
    const auto keep = hn::And(near, hn::Ne(index, self));
    const V32 capped = hn::Min(hn::ShiftRightSame(distance, shift), largest);
    const V32 key = hn::Or(hn::ShiftLeft<kKeyIndexBits>(capped), index);
    int32_t* out = reinterpret_cast<int32_t*>(candidates.keys) + candidates.count;
    hn::StoreU(hn::Compress(key, keep), d, out);  // CompressStore is slow on Zen 4 and 5
    candidates.count += static_cast<int32_t>(hn::CountTrue(d, keep));
    if (candidates.count > Candidates::kCapacity) candidates.cut(stage);
  }
}

template <int kVectors, int kRows>
HWY_INLINE void match_lanes(const MatchRow& row, int32_t lane) {
  const int32_t kept = row.stage->patch == 8 ? find_near<kVectors, kRows, 4>(row, lane)
                                             : find_near<kVectors, kRows, 0>(row, lane);
  collect_near(row, kept);
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

void match_four_rows(const MatchRow& row) {
  match_displacements<4>(row);
}

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
HWY_EXPORT(match_four_rows);
HWY_EXPORT(keep_below);
HWY_EXPORT(sort_keys);

constexpr uint32_t kKeyIndices = (1u << kKeyIndexBits) - 1;

// Of the running sums before references whose patches have begun and not ended.
int32_t sum_slots(const Bm3dStage& stage) {
  return static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(stage.patch / stage.step + 3)));
}

constexpr int32_t kMostRows = 4, kMostVectors = 3;
constexpr size_t kMostSums = size_t{kMostRows} * kMostVectors * Candidates::kMaxLanes;

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
      sums_(sum_slots(stage) * kMostSums),
      distances_((max_columns + 1) * kMostSums),
      near_((max_columns + 1) * kMostRows * kMostVectors),
      candidates_(max_columns),
      displacements_{{0, 0}} {
  for (int32_t y = -stage.radius; y <= stage.radius; ++y) {
    for (int32_t x = -stage.radius; x <= stage.radius; ++x) displacements_.push_back({x, y});
  }
}

uint64_t Matcher::bytes(const Bm3dStage& stage, int32_t max_columns) {
  const uint64_t columns = max_columns, side = 2 * stage.radius + 1;
  return (columns * (stage.patch + 1) / 2 + (sum_slots(stage) + columns + 1) * kMostSums) *
             sizeof(int32_t) +
         (columns + 1) * kMostRows * kMostVectors * sizeof(NearVector) +
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
  row.sums = sums_.data();
  row.last_slot = sum_slots(stage_) - 1;
  row.distances = distances_.data();
  row.near = near_.data();
  row.candidates = candidates_.data();
  const int32_t first = std::max(-stage_.radius, -y);
  const int32_t last = std::min(stage_.radius, height - stage_.patch - y);
  // Rows dy, dy + 2, dy + 4 and dy + 6.
  const auto match = [&](int32_t dy) {
    const int32_t end = std::min(dy + 6, last);
    while (dy < first) dy += 2;
    while (dy <= end) {
      const int32_t rows = (end - dy) / 2 + 1;
      row.dy = dy;
      if (rows == kMostRows) {
        HWY_DYNAMIC_DISPATCH(match_four_rows)(row);
        return;
      }
      if (rows > 1) {
        HWY_DYNAMIC_DISPATCH(match_two_rows)(row);
      } else {
        HWY_DYNAMIC_DISPATCH(match_row)(row);
      }
      dy += rows > 1 ? 4 : 2;
    }
  };
  // From the centre outwards, by eight rows: near candidates are the likeliest, and lower the limit
  // early.
  for (int32_t i = 0; 4 * i <= stage_.radius + 3 && stage_.group > 1; ++i) {
    const int32_t block = i % 2 == 0 ? -4 - 4 * i : 4 * i;
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
