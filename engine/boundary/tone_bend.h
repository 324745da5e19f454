// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace grainless {

inline constexpr int32_t kBendSegments = 32;

// A camera's noise is stronger in some tones than in others; the methods expect the same sigma
// everywhere. So colours are bent before a method sees them, and bent back afterwards: a monotone,
// piecewise linear curve from 0..255 onto 0..255 whose slope is the inverse of the tone's sigma
// (variance stabilisation: Foi 2008). One curve serves R, G and B, so that grey stays grey.
struct ToneBend {
  int32_t enabled = 0;  // 0: nothing is bent, and no bit changes
  // The bent value of i * 255 / kBendSegments, strictly increasing. Beyond both ends the first and
  // the last slope go on.
  float to[kBendSegments + 1] = {};
};

}  // namespace grainless
