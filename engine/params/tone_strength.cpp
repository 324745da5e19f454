// SPDX-License-Identifier: MIT
#include "tone_strength.h"

#include <algorithm>

namespace grainless {
namespace {

// 1 at 0, 0 from 1/2 on.
double share_at(double distance) {
  const double at = std::clamp(2 * distance, 0.0, 1.0);
  return 1 - at * at * (3 - 2 * at);
}

}  // namespace

double tone_strength(const Params& params, double brightness) {
  const double tone = std::clamp(brightness / 255, 0.0, 1.0);
  const double strength = 1 + (params.shadows / 100 - 1) * share_at(tone) +
                          (params.highlights / 100 - 1) * share_at(1 - tone);
  return std::max(strength, kLeastToneStrength);
}

bool has_tone_strength(const Params& params) {
  return params.shadows != 100 || params.highlights != 100;
}

}  // namespace grainless
