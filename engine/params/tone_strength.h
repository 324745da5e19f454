// SPDX-License-Identifier: MIT
// Shadows and highlights: the noise curve as the user bends it.
#pragma once

#include "params.h"

namespace grainless {

// Less than that would leave no room for the other tones (plan/toned_noise.h).
inline constexpr double kLeastToneStrength = 0.05;

// What the noise of a tone is multiplied by before it is removed; brightness is 0..255 of the
// perceptual encoding. `shadows` counts in full at black, by half at a quarter of the range, and no
// more from the middle on; `highlights` likewise from white down. Smooth in between (a cubic), at
// least kLeastToneStrength, and exactly 1 everywhere when both are 100 %.
double tone_strength(const Params& params, double brightness);

// Whether any tone's strength differs from 1.
bool has_tone_strength(const Params& params);

}  // namespace grainless
