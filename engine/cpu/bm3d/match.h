// SPDX-License-Identifier: MIT
// Block matching of BM3D (engine/boundary/plan.h: Bm3dStage). All of it is integer arithmetic,
// exact in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/boundary/plan.h"
#include "engine/boundary/rect.h"
#include "engine/cpu/frame/planes.h"

namespace grainless {

// Patches of one group by their top left pixels, by key; the reference comes first.
struct PatchGroup {
  int32_t count;  // a power of two
  int32_t x[kMaxGroup], y[kMaxGroup];
};

// Match values are such that a distance is below 2^30 (match_scale.h: largest_match_scale), so
// energies and inner products are below 2^28. Limits of distances are far below kLargestDistance,
// and with this energy no distance is below it, nor too large for an int.
inline constexpr int32_t kNoPatch = 1 << 30;
inline constexpr int32_t kLargestDistance = kNoPatch - (1 << 28);

// One plane's match values q, laid out for matching. Rows have margins as wide as the search
// window, so that vectors of candidates may reach over the rectangle's sides; what stands there
// never comes near a reference.
class MatchPlane {
 public:
  MatchPlane(const Rect& rect, const Bm3dStage& stage);

  static uint64_t bytes(const Rect& rect, const Bm3dStage& stage);

  const Rect& rect() const { return rect_; }
  ptrdiff_t stride() const { return stride_; }

  // The rows y0..y1-1 from channel 0 of source. All pairs come before any energies.
  void fill_pairs(const Planes& source, int32_t y0, int32_t y1);
  void fill_energies(int32_t y0, int32_t y1);

  // q(x, y) in the low and q(x, y + 1) in the high half; below the last row 0.
  const uint32_t* pair(int32_t x, int32_t y) const { return pairs_.data() + offset(x, y); }
  // Sum of q^2 over the patch at (x, y); kNoPatch where that doesn't lie inside.
  const int32_t* energy(int32_t x, int32_t y) const { return energies_.data() + offset(x, y); }

 private:
  ptrdiff_t offset(int32_t x, int32_t y) const {
    return (y - rect_.y) * stride_ + (x - rect_.x) + margin_;
  }

  Rect rect_;
  int32_t patch_;
  MatchCurve curve_;
  ptrdiff_t margin_, stride_;
  AlignedBuffer<uint32_t> pairs_;
  AlignedBuffer<int32_t> energies_;
};

// The candidates of one reference that may still be among the best: all of those, and some more.
struct Candidates {
  static constexpr int32_t kCapacity = 64;
  static constexpr int32_t kMaxLanes = 64;                // of a vector
  static_assert(kCapacity >= kMaxGroup + kMaxGroup / 2);  // what a cut may leave

  // A vector may pass the capacity, and a vector of padding follows.
  uint32_t keys[kCapacity + 2 * kMaxLanes];
  int32_t count;
  int32_t energy;  // of the reference
  int32_t limit;   // only distances (sums of squares) below it can enter

  void reset(const Bm3dStage& stage, int32_t reference_energy);
  // Drops most of what can't be among the smallest stage.group keys, and lowers the limit.
  void cut(const Bm3dStage& stage);
  // Leaves the smallest stage.group keys, or all there are, in order.
  void finish(const Bm3dStage& stage);
};

// A reference, and the index of the first of a vector of candidates of which some may be near
// enough.
struct NearVector {
  int32_t reference, index;
};

// One row of candidates, or every other one of some, compared with one row of references.
struct MatchRow {
  const Bm3dStage* stage;
  const MatchPlane* plane;
  std::span<const int32_t> xs;  // of the references, increasing
  int32_t y, dy;
  // -2 times the pairs of the references' patches: [row pair][column from xs[0] on]
  const int32_t* reference;
  int32_t columns;
  int32_t* sums;  // scratch: [references & last_slot][row][displacement]
  int32_t last_slot;
  int32_t* distances;  // scratch: those of `near`
  NearVector* near;
  Candidates* candidates;
};

// One thread's matching.
class Matcher {
 public:
  // References of one call stand within max_columns pixels.
  Matcher(const Bm3dStage& stage, int32_t max_columns);

  static uint64_t bytes(const Bm3dStage& stage, int32_t max_columns);

  // The groups of the references at (xs[i], y), in an image of that height.
  void find(const MatchPlane& plane, int32_t height, std::span<const int32_t> xs, int32_t y,
            PatchGroup* groups);

 private:
  void copy_references(const MatchPlane& plane, std::span<const int32_t> xs, int32_t y);
  PatchGroup group(const Candidates& candidates, int32_t x, int32_t y) const;

  struct Displacement {
    int32_t x, y;
  };

  Bm3dStage stage_;
  AlignedBuffer<int32_t> reference_;
  AlignedBuffer<int32_t> sums_, distances_;
  std::vector<NearVector> near_;
  std::vector<Candidates> candidates_;
  std::vector<Displacement> displacements_;  // of a key's index
};

}  // namespace grainless
