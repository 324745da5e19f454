// SPDX-License-Identifier: MIT
// Collaborative filtering of BM3D (Dabov 2007, equations 5 to 12): the 3-D transform of a group,
// its shrinkage, and the weighted aggregation of what comes back.
#pragma once

#include <cstdint>

#include "engine/boundary/bm3d_math.h"
#include "engine/boundary/plan.h"
#include "engine/cpu/frame/planes.h"
#include "match.h"

namespace grainless {

struct FilterTables;

// Sums over all estimates of a pixel, and of the weights of all estimates of a patch, at its first
// pixel: integers in the first stage (engine/boundary/bm3d_math.h), floats in the others, whose
// sums are nobody's pilot. The other stage's planes are empty. The rectangle holds every patch that
// reaches a wanted pixel; other patches are left out.
struct Aggregate {
  Rect wanted;
  BasicPlanes<int64_t> steps_removed;  // R
  BasicPlanes<int32_t> steps_weight;   // g
  Planes removed, weight;              // w * kaiser * r, and w

  Aggregate(const Rect& wanted, const Rect& rect, int32_t channels, bool first_stage);
  static uint64_t bytes(int32_t channels, const Rect& rect, bool first_stage);

  bool first_stage() const { return steps_removed.channels() > 0; }
  // Whether the patch at (x, y) reaches a wanted pixel.
  bool takes(int32_t x, int32_t y, int32_t patch) const {
    return x + patch > wanted.x && x < wanted.right() && y + patch > wanted.y &&
           y < wanted.bottom();
  }
  void clear(int32_t c, int32_t y0, int32_t y1);
  // The rows y0..y1-1 of channel c of the estimate.
  void estimate(const FilterTables& tables, const Planes& noisy, int32_t c, int32_t y0, int32_t y1,
                Planes& out) const;
};

// A stage's matrices and window as the kernels want them: rows padded with zeros to `stride`.
struct FilterTables {
  explicit FilterTables(const Bm3dStage& stage);

  int32_t patch, stride;
  Transform transform;
  Dct8 dct;  // of 8 x 8 patches
  Pairs8 pairs, pairs_back;
  alignas(64) float forward[kMaxPatch * kMaxPatch];  // patch x patch
  alignas(64) float inverse[kMaxPatch * kMaxPatch];
  alignas(64) float forward_t[kMaxPatch * kMaxPatch];  // transposed: patch x stride
  alignas(64) float inverse_t[kMaxPatch * kMaxPatch];
  alignas(64) float window[kMaxPatch * kMaxPatch];  // patch x stride
  alignas(64) float kaiser[kMaxPatch];              // stride
  Bm3dSumScale sums[kMaxChannels];                  // of a first stage
};

// One thread's patches in work.
struct FilterScratch {
  alignas(64) float matrix[kMaxGroup * kMaxGroup];
  alignas(64) float noisy[kMaxGroup * kMaxPatch * kMaxPatch];
  alignas(64) float pilot[kMaxGroup * kMaxPatch * kMaxPatch];
  alignas(64) float turned[kMaxGroup * kMaxPatch * kMaxPatch];  // of the ridge filter's pilot
  alignas(64) float temporary[kMaxPatch * kMaxPatch];
  alignas(64) float factors[kMaxPatch * kMaxPatch];  // of a removed value
};

// A patch in one channel, by its first pixel.
struct PatchPlace {
  int32_t c, x, y;
};

struct GroupFilter {
  const Bm3dStage* stage;
  const FilterTables* tables;
  const Planes* noisy;
  const Planes* pilot;  // null: hard threshold
  const Planes* share;  // of the noise, that `noisy` has; null: all of it
  Aggregate* out;
  FilterScratch* scratch;
};

// Filters one group in channel c and adds it to the aggregate. The coefficient that holds the
// group's mean is kept as it is: a constant is nobody's noise.
void filter_group(const GroupFilter& filter, const PatchGroup& group, int32_t c);

// The same by GroupRule::kRidge, with a pilot (ridge.cpp).
void ridge_group(const GroupFilter& filter, const PatchGroup& group, int32_t c);

// Floats from one patch to the next in a scratch of filter_group.
inline int32_t patch_floats(const FilterTables& tables) {
  return (tables.patch * tables.stride + 15) / 16 * 16;
}

// The end of a first stage's filter: what it removed from the group's patches stands in the
// scratch's noisy patches, and joins the aggregate with this weight.
void add_first_stage(const GroupFilter& filter, const PatchGroup& group, int32_t c, float weight);

}  // namespace grainless
