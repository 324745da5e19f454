// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace grainless {

inline constexpr int32_t kBendSegments = 32;

inline constexpr int32_t kClipSegments = 32;

// Noise that is cut off at black and white moves the mean of dark and bright tones inwards, and
// filters find means: a denoised black or white is grey. This leads back: piecewise linear,
// monotone, of values above 0; those from kClipSegments * step on stay (clipped noise: Foi 2009,
// for Gaussian noise in the encoding's values; clip_curve.h has noise in linear light, too).
struct ClipCurve {
  float step = 0;                    // 0: nothing is led back. In 8-bit steps
  float to[kClipSegments + 1] = {};  // what the value i * step was before it was cut off
};

// A camera's noise is stronger in some tones than in others; the methods expect the same sigma
// everywhere. So colours are bent before a method sees them, and bent back afterwards: a monotone,
// piecewise linear curve from 0..255 onto 0..255 whose slope is the inverse of the tone's sigma
// (variance stabilisation: Foi 2008). One curve serves R, G and B, so that grey stays grey.
struct ToneBend {
  int32_t enabled = 0;  // 0: nothing is bent, and no bit changes
  // The bent value of i * 255 / kBendSegments, strictly increasing. Beyond both ends the first and
  // the last slope go on.
  float to[kBendSegments + 1] = {};
  // Of results. Of noise that is even it needs no bend, and a plan bends by nothing (make_plan()).
  ClipCurve clip;
};

}  // namespace grainless
