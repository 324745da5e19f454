// SPDX-License-Identifier: MIT
// What the tests of methods on planes share: plans of one level, and comparisons.
#pragma once

#include "engine/boundary/plan.h"
#include "engine/cpu/frame/planes.h"
#include "engine/params/params.h"

namespace grainless::test {

inline constexpr float kSigma = 20;

// The full resolution's, of a picture of floats with white noise.
LevelPlan level_of(const Params& params, int32_t channels, float sigma = kSigma);

// value(c, x, y) of every pixel, a row of a channel after the other.
template <typename Value>
Planes planes_of(int32_t channels, int32_t width, int32_t height, const Value& value) {
  Planes image(channels, {0, 0, width, height});
  for (int32_t c = 0; c < channels; ++c) {
    for (int32_t y = 0; y < height; ++y) {
      for (int32_t x = 0; x < width; ++x) *image.at(c, x, y) = value(c, x, y);
    }
  }
  return image;
}

Planes cropped(const Planes& image, const Rect& rect);

struct Difference {
  double largest = 0, rms = 0, psnr = 0;  // peak 255
};

// Over b's rectangle.
Difference difference(const Planes& a, const Planes& b);

bool same_bits(const Planes& a, const Planes& b, const Rect& rect);
// Over part's rectangle.
bool same_bits(const Planes& part, const Planes& whole);

}  // namespace grainless::test
