// SPDX-License-Identifier: MIT
#include "reference_nlm.h"

#include <algorithm>
#include <cmath>

#include "engine/pixel_math.h"

namespace grainless::test {
namespace {

int32_t mirrored(int32_t i, int32_t size) {
  while (i < 0 || i >= size) i = i < 0 ? -1 - i : 2 * size - 1 - i;
  return i;
}

double value_at(const Planes& image, int32_t c, int32_t x, int32_t y) {
  return *image.at(c, mirrored(x, image.rect().width), mirrored(y, image.rect().height));
}

// What is compared: values far beyond black and white count an eighth.
Planes compared(const NlmPlan& nlm, const Planes& image, Matching matching) {
  Planes result(image.channels(), image.rect());
  for (int32_t c = 0; c < image.channels(); ++c) {
    for (int32_t y = 0; y < image.rect().height; ++y) {
      for (int32_t x = 0; x < image.rect().width; ++x) {
        const double t = double{*image.at(c, x, y)} - nlm.match_centre[c];
        const double bent = std::min(256 + (std::abs(t) - 256) / 8, 511.875);
        const double q = (std::abs(t) <= 256 ? t : std::copysign(bent, t)) * nlm.match_scale[c];
        const int32_t rounded =
            match_value(*image.at(c, x, y), nlm.match_centre[c], nlm.match_scale[c]);
        *result.at(c, x, y) = static_cast<float>(matching == Matching::kRounded ? rounded : q);
      }
    }
  }
  return result;
}

double distance(const NlmPlan& nlm, const Planes& match, int32_t x, int32_t y, int32_t dx,
                int32_t dy) {
  double sum = 0;
  for (int32_t c = 0; c < match.channels(); ++c) {
    for (int32_t i = -(nlm.patch / 2); i < nlm.patch - nlm.patch / 2; ++i) {
      for (int32_t j = -(nlm.patch / 2); j < nlm.patch - nlm.patch / 2; ++j) {
        const double a = value_at(match, c, x + j, y + i);
        const double b = value_at(match, c, x + dx + j, y + dy + i);
        sum += (a - b) * (a - b);
      }
    }
  }
  return sum;
}

double weight(const NlmWeight& curve, double distance) {
  const double exponent = std::max(distance * curve.gain - 2, 0.0) * curve.decay;
  return exponent > kNlmCutoff ? 0 : std::exp(-exponent);
}

void filter_pixel(const NlmPlan& nlm, const Planes& image, const Planes& match, int32_t x,
                  int32_t y, Planes& result) {
  double sum[kMaxChannels] = {}, total[kMaxChannels] = {}, largest[kMaxChannels] = {};
  for (int32_t dy = -nlm.radius; dy <= nlm.radius; ++dy) {
    for (int32_t dx = -nlm.radius; dx <= nlm.radius; ++dx) {
      if (dx == 0 && dy == 0) continue;
      const double d = distance(nlm, match, x, y, dx, dy);
      for (int32_t c = 0; c < image.channels(); ++c) {
        const double w = weight(c == 0 || nlm.joint != 0 ? nlm.luma : nlm.chroma, d);
        sum[c] += w * value_at(image, c, x + dx, y + dy);
        total[c] += w;
        largest[c] = std::max(largest[c], w);
      }
    }
  }
  for (int32_t c = 0; c < image.channels(); ++c) {
    const NlmWeight& curve = c == 0 || nlm.joint != 0 ? nlm.luma : nlm.chroma;
    const Centre rule = static_cast<Centre>(nlm.centre);
    const double own = rule == Centre::kMax ? largest[c] : rule == Centre::kOne ? 1 : 0;
    const double v = value_at(image, c, x, y);
    const bool kept = curve.enabled == 0 || total[c] + own == 0;
    *result.at(c, x, y) = static_cast<float>(kept ? v : (sum[c] + own * v) / (total[c] + own));
  }
}

}  // namespace

Planes reference_nlm(const NlmPlan& nlm, const Planes& image, Matching matching) {
  const Planes match = compared(nlm, image, matching);
  Planes result(image.channels(), image.rect());
  for (int32_t y = 0; y < image.rect().height; ++y) {
    for (int32_t x = 0; x < image.rect().width; ++x) filter_pixel(nlm, image, match, x, y, result);
  }
  return result;
}

}  // namespace grainless::test
