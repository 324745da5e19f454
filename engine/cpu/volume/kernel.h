// SPDX-License-Identifier: MIT
// The inner loops of Non-Local Means over a volume, a row at a time, compiled for every instruction
// set. Rows may be read and written kNlmPad elements past their end. A voxel's sums are the same
// bits on any instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/boundary/plan.h"
#include "engine/cpu/nlm/kernel.h"

namespace grainless {

// Squared differences of two rows of match values enter the column sums; those of the row `patch`
// above (`squares` still holds them) leave. a and b are one plane a channel.
void nlm_volume_columns(const int32_t* const* a, const int32_t* const* b, int32_t channels,
                        ptrdiff_t count, int32_t* squares, int32_t* columns);

// Sums over the width of a patch replace `boxes` in the sums over its layers.
void nlm_volume_boxes(const int32_t* columns, int32_t patch, ptrdiff_t count, int32_t* boxes,
                      int32_t* sums);

void nlm_volume_weigh(const NlmWeight& weight, const int32_t* sums, ptrdiff_t count,
                      float* weights);

// weight * (other - own) enters the differences, the weight total and largest.
struct NlmVolumeRow {
  const float* weights;
  const float* own[kMaxChannels];
  const float* other[kMaxChannels];
  float* difference[kMaxChannels];
  float *total, *largest;
};
void nlm_volume_add(const NlmVolumeRow& row, int32_t channels, ptrdiff_t count);

}  // namespace grainless
