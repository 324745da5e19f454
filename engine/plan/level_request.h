// SPDX-License-Identifier: MIT
// What a method's planner (engine/methods.h) is told of one level of resolution.
#pragma once

#include <cstdint>

#include "engine/noise/picture_noise.h"
#include "engine/params/params.h"
#include "match_scale.h"

namespace grainless {

struct LevelRequest {
  const Params& params;  // strength, luma and chroma are 0 where nothing would be heard of them
  int32_t index;         // 0: full resolution
  const MatchSpan& span;
  int32_t channels;
  // In 8-bit steps, a channel: the noise as the method takes it, and what is to be removed of it.
  const double* measured;
  const double* sigma;
  const PictureNoise& noise;

  // As fine as white noise allows: a coarser level's match values may be as many times less as it
  // has fewer pixels a side, since its noise is weaker by that. They smooth no more than the first
  // level's noise.
  double least_unit(double of_first_level) const;
};

// Some channel's noise is not white.
bool is_correlated(const PictureNoise& noise);

}  // namespace grainless
