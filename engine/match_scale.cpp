// SPDX-License-Identifier: MIT
#include "match_scale.h"

#include <algorithm>
#include <cmath>

#include "noise_model.h"
#include "pixel_math.h"

namespace grainless {

float luma_match_centre(bool colour) {
  return static_cast<float>(127.5 * (colour ? std::sqrt(3.0) : 1.0));
}

double largest_match_scale(double differences) {
  return std::sqrt(std::ldexp(1.0, 30) / differences) / kMatchSpan;
}

double set_match_planes(float* centre, float* scale, double unit, double largest,
                        const double* noise, int32_t channels) {
  double most_noise = 0.01, sigma[kMaxChannels] = {};
  for (int32_t c = 0; c < channels; ++c) most_noise = std::max(most_noise, noise[c]);
  for (int32_t c = 0; c < channels; ++c) {
    sigma[c] = std::max(noise[c], most_noise / 4);
    unit = std::min(unit, largest * sigma[c]);
  }
  for (int32_t c = 0; c < channels; ++c) {
    scale[c] = static_cast<float>(unit / sigma[c]);
    centre[c] = c > 0 ? 0.0f : luma_match_centre(channels == 3);
  }
  return unit;
}

}  // namespace grainless
