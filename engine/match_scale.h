// SPDX-License-Identifier: MIT
// Scales of match values (pixel_math.h: match_value), which every method's plan sets.
#pragma once

#include <cstdint>

namespace grainless {

// The middle of a luma plane, in 8-bit steps; the luma of a colour picture is sqrt(3) times as wide
// as a grey value. Chroma planes have theirs at 0.
float luma_match_centre(bool colour);

// Match values a step, such that a sum of so many squared differences stays under 2^30.
double largest_match_scale(double differences);

// Sets centre and scale of every channel's plane. All get the same number of match values a sigma
// of theirs, so that a distance over several is in units of noise: `unit`, or fewer where one would
// have more than `largest` a step. A channel said to be nearly free of noise still may not outweigh
// the others beyond measure. Returns that number.
double set_match_planes(float* centre, float* scale, double unit, double largest,
                        const double* noise, int32_t channels);

}  // namespace grainless
