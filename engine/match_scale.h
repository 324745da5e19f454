// SPDX-License-Identifier: MIT
// Constants of match values (pixel_math.h: match_value) that every method's plan shares.
#pragma once

#include <cmath>

#include "pixel_math.h"

namespace grainless {

// The middle of a luma plane, in 8-bit steps; the luma of a colour picture is sqrt(3) times as wide
// as a grey value. Chroma planes have theirs at 0.
inline float luma_match_centre(bool colour) {
  return static_cast<float>(127.5 * (colour ? std::sqrt(3.0) : 1.0));
}

// Match values a step, such that a sum of so many squared differences stays under 2^30.
inline double largest_match_scale(double differences) {
  return std::sqrt(std::ldexp(1.0, 30) / differences) / kMatchSpan;
}

}  // namespace grainless
