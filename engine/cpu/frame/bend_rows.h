// SPDX-License-Identifier: MIT
// bent() and bent_back() of engine/boundary/pixel_math.h over rows of colour values, in vectors:
// the same bits.
#pragma once

#include <cstdint>

#include "engine/boundary/tone_bend.h"

namespace grainless {

// A curve with the slopes of its pieces. It is borrowed.
struct BendPieces {
  explicit BendPieces(const ToneBend& curve);

  const ToneBend& bend;
  float slope[kBendSegments], slope_back[kBendSegments];
};

// Of `count` values, in place.
void bend_row(const BendPieces& pieces, float* values, int32_t count);
void bend_row_back(const BendPieces& pieces, float* values, int32_t count);

}  // namespace grainless
