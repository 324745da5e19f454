// SPDX-License-Identifier: MIT
// The inner loops of Non-Local Means on one block of pixels, compiled for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/boundary/plan.h"
#include "engine/noise/model.h"

namespace grainless {

inline constexpr ptrdiff_t kNlmPad = 64;  // elements a row may be read past what it needs

// Planes that share one weight, and their sums, a pixel of the block.
struct NlmSums {
  int32_t first, count;  // planes first .. first + count - 1
  NlmWeight weight;
  float* weights;                   // radius + 1 rows of one displacement
  float* spread;                    // patch-wise: 2 + 2 * patch rows
  float* difference[kMaxChannels];  // sum of w * (v(q) - v(p))
  float* total;                     // sum of w; for kPatches: what a weight of the patch counts for
  float* largest;                   // w
};

// kPixels: every pixel's own sums. Patch-wise, the block's pixels are the centres of the patches of
// the (width - patch + 1) x (height - patch + 1) results in its middle: kTotals sums their weights
// alone, kPatches gives weight * total of every patch to the results in it, whose differences start
// at the sums' first pixel.
enum class NlmPass { kPixels, kTotals, kPatches };

// The extended planes hold the block and `margin` pixels round it, the image reflected at its
// border; pixel (x, y) of the block is at (y + margin) * stride + x + margin. Every row may be read
// and written kNlmPad elements past its end. All rows but the extended ones start aligned; of
// these, the block's own pixels do best.
struct NlmBlock {
  int32_t width, height;
  int32_t patch, radius;
  int32_t margin;  // radius + patch / 2
  int32_t channels;
  ptrdiff_t stride;                    // of the extended planes
  ptrdiff_t row;                       // of weights, squares, columns and sums
  const int32_t* match[kMaxChannels];  // extended
  const float* value[kMaxChannels];    // extended
  int32_t* squares;                    // patch rows: squared differences
  int32_t* columns;                    // one row: their sums over the height of a patch
  int32_t group_count;
  NlmSums groups[2];
};

// match_value() of `count` values; reads and writes up to kNlmPad more.
void nlm_match_row(const float* value, ptrdiff_t count, const MatchCurve& curve, int32_t* match);

// Adds the contributions of the displacements (dx, dy) and (-dx, -dy) to every pixel of the block.
// dy is not negative. A pixel's sums are the same bits in any block and on any instruction set.
void nlm_add_displacement(const NlmBlock& block, NlmPass pass, int32_t dx, int32_t dy);

}  // namespace grainless
