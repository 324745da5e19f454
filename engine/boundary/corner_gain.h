// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace grainless {

// A lens darkens the corners; who brightens them again brightens their noise, too, and who darkens
// them for the looks darkens it. The methods expect the same sigma everywhere, so they see colours
// over this gain, and results are multiplied by it. With t = (distance from the picture's centre /
// that of its corners)^2 the gain is 1 + t (rise + bulge t), above 0 and monotone.
struct CornerGain {
  int32_t enabled = 0;  // 0: no bit changes
  float rise = 0, bulge = 0;
};

// The same over a picture's pixels.
struct GainField {
  CornerGain gain;
  float centre_x = 0, centre_y = 0;
  float per_square = 0;  // t of the distance of one pixel
};

}  // namespace grainless
