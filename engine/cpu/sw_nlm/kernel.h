// SPDX-License-Identifier: MIT
// The inner loops of Shapiro-Wilk NLM on one block of pixels, compiled for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/boundary/plan.h"

namespace grainless {

// Elements of 4 bytes that a row may be read and written past what it needs.
inline constexpr ptrdiff_t kSwPad = 64;

// Planes that share a gate, and their sums, a pixel of the block.
struct SwNlmSums {
  int32_t first, count;  // planes first .. first + count - 1
  SwNlmGate gate;
  float* weights;                   // radius + 1 rows of one displacement
  float* difference[kMaxChannels];  // sum of w * (v(q) - v(p))
  float* total;                     // sum of w
  float* largest;                   // w
};

// The extended planes hold the block and `margin` pixels round it, the image reflected at its
// border; pixel (x, y) of the block is at (y + margin) * stride + x + margin. Every row may be read
// and written kSwPad elements past its end.
struct SwNlmBlock {
  const SwNlmPlan* plan;
  int32_t width, height;
  int32_t margin;  // radius + patch / 2
  int32_t channels;
  ptrdiff_t stride;                    // of the extended planes
  ptrdiff_t row;                       // of all others
  const int16_t* match[kMaxChannels];  // extended
  const float* value[kMaxChannels];    // extended
  int16_t* differences;                // patch rows of luma's d
  int16_t* column_sums;                // one row: of d over the height of a patch
  int32_t* column_squares;             // one row: of d^2
  int32_t* chroma_squares;             // patch rows: d^2 of both chroma planes
  int32_t* chroma_columns;             // one row
  int32_t* spread;                     // one row: n S2 - S1^2, 0 where a gate rejects
  int16_t* samples;                    // patch^2 vectors
  int32_t group_count;
  SwNlmSums groups[2];
};

// match_value() of `count` values; reads and writes up to kSwPad more.
void sw_nlm_match_row(const float* value, ptrdiff_t count, const MatchCurve& curve, int16_t* match);

// Adds the contributions of the displacements (dx, dy) and (-dx, -dy) to every pixel of the block.
// dy is not negative. A pixel's sums are the same bits in any block and on any instruction set.
void sw_nlm_add_displacement(const SwNlmBlock& block, int32_t dx, int32_t dy);

// Joint sums of squared differences between the patch of pixel (x, y) of the block and those of its
// window: displacement (dx, dy) at (dy + radius) * pitch + dx + radius. Rows need room for pitch
// elements, a multiple of kSwPad.
void sw_nlm_window(const SwNlmBlock& block, int32_t x, int32_t y, ptrdiff_t pitch,
                   uint32_t* distances);

}  // namespace grainless
