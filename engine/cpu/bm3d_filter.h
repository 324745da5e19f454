// SPDX-License-Identifier: MIT
// Collaborative filtering of BM3D (Dabov 2007, equations 5 to 12): the 3-D transform of a group,
// its shrinkage, and the weighted aggregation of what comes back.
#pragma once

#include <cstdint>

#include "bm3d_match.h"
#include "engine/plan.h"
#include "planes.h"

namespace grainless {

// Weighted sums of what is to be removed, and sums of weights. The rectangle holds every patch that
// reaches a wanted pixel; other patches are left out.
struct Aggregate {
  Rect wanted;
  Planes sum, weight;

  // Whether the patch at (x, y) reaches a wanted pixel.
  bool takes(int32_t x, int32_t y, int32_t patch) const;
  // sum becomes the estimate, in the rows y0..y1-1 of channel c.
  void estimate(const Planes& noisy, int32_t c, int32_t y0, int32_t y1);
};

// What is left of an 8 x 8 DCT matrix by its symmetries.
struct Dct8 {
  float mean, even[2], odd[4][4];
};

// An 8 x 8 bior1.5 or Haar matrix in terms of sums and differences of pairs of samples (S_i, D_i):
// mean: sum of S; detail3: (S0 + S1 - S2 - S3), (E0 + E1); detail2: (S0 - S1), (E0 - E1); detail1:
// D_i, with E0 = D1 - D3, E1 = D2 - D0.
struct Pairs8 {
  float mean, detail3[2], detail2[2], detail1;
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
};

// One thread's patches in work.
struct FilterScratch {
  alignas(64) float noisy[kMaxGroup * kMaxPatch * kMaxPatch];
  alignas(64) float pilot[kMaxGroup * kMaxPatch * kMaxPatch];
  alignas(64) float temporary[kMaxPatch * kMaxPatch];
};

struct GroupFilter {
  const FilterTables* tables;
  const Planes* noisy;
  const Planes* pilot;  // null: hard threshold
  Aggregate* out;
  FilterScratch* scratch;
};

// Filters one group in channel c and adds it to the aggregate. shrink: plan.h, Bm3dStage. The
// coefficient that holds the group's mean is kept as it is: a constant is nobody's noise.
void filter_group(const GroupFilter& filter, const PatchGroup& group, int32_t c, float shrink);

}  // namespace grainless
