// SPDX-License-Identifier: MIT
// The inner loops of Non-Local Means on one block of pixels, compiled for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/boundary/plan.h"

namespace grainless {

inline constexpr ptrdiff_t kNlmPad = 64;      // elements a row may be read past what it needs
inline constexpr int32_t kNlmAlignment = 16;  // elements; rows may be read so many before, too

// Displacements (dx, dy) .. (dx + count - 1, dy); dy is not negative, count 1 or kNlmRun. A run
// reads and writes its pixels' sums once, in the order of single displacements: the same bits.
inline constexpr int32_t kNlmRun = 3;
struct NlmRun {
  int32_t dx, dy, count;
};

// Planes that share one weight, and their sums, a pixel of the block.
struct NlmSums {
  int32_t first, count;  // planes first .. first + count - 1
  NlmWeight weight;
  float* weights;                   // kNlmRun displacements of radius + 1 rows
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
//
// `match` holds two numbers of 16 bits an element: a pixel's match value below, that of the pixel
// `patch` rows further up above (the first rows have none). Differences have less than 15 bits, as
// a patch has four pixels or more (engine/plan/match_scale.h).
struct NlmBlock {
  int32_t width, height;
  int32_t patch, radius;
  int32_t margin;  // radius + patch / 2
  int32_t channels;
  ptrdiff_t stride;                    // of the extended planes
  ptrdiff_t row;                       // of weights, columns and sums
  const int32_t* match[kMaxChannels];  // extended; see above
  const float* value[kMaxChannels];    // extended
  int32_t* columns;  // kNlmRun rows: squared differences' sums over a patch's height
  int32_t group_count;
  NlmSums groups[2];
};

// match_value() of `count` values; reads and writes up to kNlmPad more.
void nlm_match_row(const float* value, ptrdiff_t count, const MatchCurve& curve, int32_t* match);

// Adds the contributions of a run's displacements and their opposites to every pixel of the block.
// Runs of more than one need a radius of at least kNlmRun - 1, and are not for kPatches. A pixel's
// sums are the same bits in any block and on any instruction set.
void nlm_add_displacements(const NlmBlock& block, NlmPass pass, const NlmRun& run);

}  // namespace grainless
