// SPDX-License-Identifier: MIT
#include "reference_nlm.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/boundary/pixel_math.h"

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
        const auto [centre, scale, knee, most] = nlm.match[c];
        const double t = double{*image.at(c, x, y)} - centre;
        const double bent = std::min(knee + (std::abs(t) - knee) / 8, double{most});
        const double q = (std::abs(t) <= knee ? t : std::copysign(bent, t)) * scale;
        const int32_t rounded = match_value(*image.at(c, x, y), nlm.match[c]);
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
  const double exponent = std::max(distance * curve.gain - curve.noise, 0.0) * curve.decay;
  return exponent > kNlmCutoff ? 0 : std::exp(-exponent);
}

const NlmWeight& weight_of(const NlmPlan& nlm, int32_t c) {
  return c == 0 || nlm.joint != 0 ? nlm.luma : nlm.chroma;
}

// Weights of the window of p, a row of displacements after the other; the centre's own in its
// middle.
std::vector<double> window_weights(const NlmPlan& nlm, const Planes& match, const NlmWeight& curve,
                                   int32_t x, int32_t y) {
  std::vector<double> weights;
  for (int32_t dy = -nlm.radius; dy <= nlm.radius; ++dy) {
    for (int32_t dx = -nlm.radius; dx <= nlm.radius; ++dx) {
      const bool centre = dx == 0 && dy == 0;
      weights.push_back(centre ? 0 : weight(curve, distance(nlm, match, x, y, dx, dy)));
    }
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  weights[weights.size() / 2] = nlm.centre.own + nlm.centre.of_largest * largest;
  return weights;
}

// What a weight counts for: of a patch's, the leading bits that a float without kNlmShareRest has.
double share(const NlmPlan& nlm, double exact) {
  if (nlm.patchwise == 0) return exact;
  static_assert(kNlmShareRest + 1 == 1 << 11, "13 of 24 bits");
  int exponent = 0;
  const double leading = std::frexp(exact, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(leading, 13)), exponent - 13);
}

// The mean of plane c round (x, y) with these weights, which don't sum to 0.
double weighted_mean(const NlmPlan& nlm, const Planes& image, const std::vector<double>& weights,
                     int32_t c, int32_t x, int32_t y) {
  const double own = value_at(image, c, x, y);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double mean = own;
  size_t i = 0;
  for (int32_t dy = -nlm.radius; dy <= nlm.radius; ++dy) {
    for (int32_t dx = -nlm.radius; dx <= nlm.radius; ++dx, ++i) {
      mean += share(nlm, weights[i] / total) * (value_at(image, c, x + dx, y + dy) - own);
    }
  }
  return mean;
}

// How far the pixels that p gives an estimate to reach before and beyond p.
int32_t reach_before(const NlmPlan& nlm) {
  return nlm.patchwise != 0 ? nlm.patch / 2 : 0;
}
int32_t reach_beyond(const NlmPlan& nlm) {
  return nlm.patchwise != 0 ? nlm.patch - 1 - nlm.patch / 2 : 0;
}

void add_patch(const NlmPlan& nlm, const Planes& image, const Planes& match, int32_t c, int32_t x,
               int32_t y, std::vector<double>& sums, std::vector<double>& counts) {
  if (weight_of(nlm, c).enabled == 0) return;
  const Rect& rect = image.rect();
  const std::vector<double> weights = window_weights(nlm, match, weight_of(nlm, c), x, y);
  if (*std::max_element(weights.begin(), weights.end()) == 0) return;
  const int32_t before = reach_before(nlm), after = reach_beyond(nlm);
  for (int32_t v = std::max(y - before, 0); v <= std::min(y + after, rect.height - 1); ++v) {
    for (int32_t u = std::max(x - before, 0); u <= std::min(x + after, rect.width - 1); ++u) {
      sums[v * rect.width + u] += weighted_mean(nlm, image, weights, c, u, v);
      counts[v * rect.width + u] += 1;
    }
  }
}

}  // namespace

Planes reference_nlm(const NlmPlan& nlm, const Planes& image, Matching matching) {
  const Planes match = compared(nlm, image, matching);
  const Rect& rect = image.rect();
  const int32_t before = reach_beyond(nlm), after = reach_before(nlm);  // outside of the image
  Planes result(image.channels(), rect);
  for (int32_t c = 0; c < image.channels(); ++c) {
    std::vector<double> sums(rect.area()), counts(rect.area());
    for (int32_t y = -before; y < rect.height + after; ++y) {
      for (int32_t x = -before; x < rect.width + after; ++x) {
        add_patch(nlm, image, match, c, x, y, sums, counts);
      }
    }
    for (int32_t i = 0; i < rect.area(); ++i) {
      const int32_t x = i % rect.width, y = i / rect.width;
      const double value = counts[i] > 0 ? sums[i] / counts[i] : double{*image.at(c, x, y)};
      *result.at(c, x, y) = static_cast<float>(value);
    }
  }
  return result;
}

}  // namespace grainless::test
