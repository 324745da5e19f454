// SPDX-License-Identifier: MIT
// The vector loop of the DCT denoiser: one row of patches of one plane.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/boundary/bm3d_math.h"
#include "engine/boundary/plan.h"

namespace grainless {

// Patches of a row are counted in these; more zeros or finished patches lie in front of each row.
inline constexpr int32_t kDctLanes = 8, kDctFront = 16;

struct DctTables {
  explicit DctTables(const DctPlan& plan);

  int32_t patch;
  const float* matrix;
  Dct8 eight;  // where patch is 8
};

// Patches are vectors' lanes. So that neighbouring patches read neighbouring floats, the pixels of
// a row are split by their column modulo step: column c of the block is number c / step of part
// c % step. Part r of row y starts at (y * step + r) * row.
//
// A column's own transform serves all patches of the row that hold it, both ways: the patches'
// removed noise is transformed back along the rows, added up a column and a vertical frequency, and
// the sums are transformed back along the columns. All sums have one order for a pixel, whatever
// block it is in.
struct DctBlock {
  int32_t patches;  // a row of patches, a multiple of kDctLanes
  ptrdiff_t row;    // floats from part to part, a multiple of kDctLanes
  const float* noisy;
  const float* pilot;  // null: hard threshold
  float* removed;      // sums of weight * removed noise
  float* weight;       // sums of weights
  // Of one row of patches, in parts as well: vertical frequencies of both planes, and of each patch
  // column what is removed (kDctFront floats in front), then the patches' weights.
  float *noisy_columns, *pilot_columns, *patch_columns;
};

// Adds a row of patches, whose first row of pixels is row y of the block.
void dct_add_row(const DctTables& tables, const DctBlock& block, int32_t step, float shrink,
                 int32_t y);

}  // namespace grainless
