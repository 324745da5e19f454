// SPDX-License-Identifier: MIT
#include "plane_testing.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/noise/model.h"
#include "engine/plan/make_plan.h"

namespace grainless::test {

LevelPlan level_of(const Params& params, int32_t channels, float sigma) {
  const PixelFormat format{Component::kFloat, channels};
  return make_plan(params, format, white_noise(channels, sigma)).level[0];
}

Planes cropped(const Planes& image, const Rect& rect) {
  Planes crop(image.channels(), rect);
  for (int32_t c = 0; c < image.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      std::copy_n(image.at(c, rect.x, y), rect.width, crop.at(c, rect.x, y));
    }
  }
  return crop;
}

Difference difference(const Planes& a, const Planes& b) {
  double squares = 0;
  Difference result;
  const Rect& rect = b.rect();
  for (int32_t c = 0; c < b.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      for (int32_t x = rect.x; x < rect.right(); ++x) {
        const double d = std::abs(double{*a.at(c, x, y)} - *b.at(c, x, y));
        result.largest = d <= result.largest ? result.largest : d;  // keeps a NaN, too
        squares += d * d;
      }
    }
  }
  const double mean = squares / (1.0 * rect.width * rect.height * b.channels());
  result.rms = std::sqrt(mean);
  result.psnr = 10 * std::log10(255.0 * 255.0 / mean);
  return result;
}

bool same_bits(const Planes& a, const Planes& b, const Rect& rect) {
  for (int32_t c = 0; c < b.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      const size_t bytes = sizeof(float) * rect.width;
      if (std::memcmp(a.at(c, rect.x, y), b.at(c, rect.x, y), bytes) != 0) return false;
    }
  }
  return true;
}

bool same_bits(const Planes& part, const Planes& whole) {
  return same_bits(part, whole, part.rect());
}

}  // namespace grainless::test
