// SPDX-License-Identifier: MIT
#include "reference_sw_nlm.h"

#include <algorithm>
#include <cmath>
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

Planes matches_of(const SwNlmPlan& plan, const Planes& image) {
  Planes match(image.channels(), image.rect());
  for (int32_t c = 0; c < image.channels(); ++c) {
    for (int32_t y = 0; y < image.rect().height; ++y) {
      for (int32_t x = 0; x < image.rect().width; ++x) {
        *match.at(c, x, y) = static_cast<float>(match_value(*image.at(c, x, y), plan.match[c]));
      }
    }
  }
  return match;
}

// Of the patches of (x, y) and of (x + dx, y + dy), in plane c.
std::vector<double> differences(const SwNlmPlan& plan, const Planes& match, int32_t c, int32_t x,
                                int32_t y, int32_t dx, int32_t dy) {
  std::vector<double> d;
  const int32_t before = plan.patch / 2;
  for (int32_t ky = -before; ky < plan.patch - before; ++ky) {
    for (int32_t kx = -before; kx < plan.patch - before; ++kx) {
      const double difference =
          value_at(match, c, x + kx, y + ky) - value_at(match, c, x + dx + kx, y + dy + ky);
      d.push_back(std::clamp<double>(difference, -kSwDifference, kSwDifference));
    }
  }
  return d;
}

double squares(const std::vector<double>& d) {
  double sum = 0;
  for (double v : d) sum += v * v;
  return sum;
}

struct Pair {
  std::vector<double> luma;
  double chroma, joint;  // sums of squares
};

Pair pair_of(const SwNlmPlan& plan, const Planes& match, int32_t x, int32_t y, int32_t dx,
             int32_t dy) {
  Pair pair{differences(plan, match, 0, x, y, dx, dy), 0, 0};
  for (int32_t c = 1; c < match.channels(); ++c) {
    pair.chroma += squares(differences(plan, match, c, x, y, dx, dy));
  }
  pair.joint = squares(pair.luma) + pair.chroma;
  return pair;
}

double accepted_weight(const SwNlmPlan& plan, const SwNlmGate& gate, const Pair& pair) {
  std::vector<double> d = pair.luma;
  const double n = static_cast<double>(d.size());
  double mean = 0, order = 0, spread = 0;
  for (double v : d) mean += v / n;
  for (double v : d) spread += (v - mean) * (v - mean);
  const double error = std::sqrt(spread / (n - 1) / n);
  if (!(std::abs(mean) < error * (1 - 1e-12))) return 0;  // equal ones are rejected
  if (n * spread <= gate.least_spread + 1e-6 || n * spread >= gate.most_spread - 1e-6) return 0;
  if (pair.chroma > gate.most_chroma) return 0;
  std::sort(d.begin(), d.end());
  for (size_t i = 0; i < d.size() / 2; ++i) {
    order += std::ldexp(plan.coefficient[i], -kSwCoefficientBits) * (d[d.size() - 1 - i] - d[i]);
  }
  const double w = order * order / spread;
  return w >= plan.least_w ? std::min(w, 1.0) : 0;
}

double fallback_weight(const SwNlmGate& gate, const Pair& pair) {
  const double t = (pair.joint * gate.fallback.gain - gate.fallback.noise) * gate.fallback.decay;
  return t > kNlmCutoff ? 0 : std::exp(-std::max(t, 0.0));
}

// Weights of the window of (x, y), a row of displacements after the other, without the centre's.
template <typename Weight>
std::vector<double> window(const SwNlmPlan& plan, const Planes& match, int32_t x, int32_t y,
                           const Weight& weight) {
  std::vector<double> weights;
  for (int32_t dy = -plan.radius; dy <= plan.radius; ++dy) {
    for (int32_t dx = -plan.radius; dx <= plan.radius; ++dx) {
      const bool centre = dx == 0 && dy == 0;
      weights.push_back(centre ? 0 : weight(pair_of(plan, match, x, y, dx, dy)));
    }
  }
  return weights;
}

void filter_pixel(const SwNlmPlan& plan, const Planes& match, const Planes& image, int32_t first,
                  int32_t count, int32_t x, int32_t y, SwNlmTwin& twin) {
  const SwNlmGate& gate = first == 0 ? plan.luma : plan.chroma;
  std::vector<double> weights = window(
      plan, match, x, y, [&](const Pair& pair) { return accepted_weight(plan, gate, pair); });
  const auto accepted =
      std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; });
  if (first == 0) twin.accepted += accepted;
  if (accepted == 0) {
    if (first == 0) ++twin.lonely;
    weights =
        window(plan, match, x, y, [&](const Pair& pair) { return fallback_weight(gate, pair); });
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  weights[weights.size() / 2] = plan.centre.own + plan.centre.of_largest * largest;
  for (int32_t c = first; c < first + count; ++c) {
    double sum = 0, total = 0;
    size_t i = 0;
    for (int32_t dy = -plan.radius; dy <= plan.radius; ++dy) {
      for (int32_t dx = -plan.radius; dx <= plan.radius; ++dx, ++i) {
        sum += weights[i] * value_at(image, c, x + dx, y + dy);
        total += weights[i];
      }
    }
    const double own = *image.at(c, x, y), mean = total > 0 ? sum / total : own;
    *twin.result.at(c, x, y) = static_cast<float>(own + plan.taken[c] * (mean - own));
  }
}

}  // namespace

SwNlmTwin reference_sw_nlm(const SwNlmPlan& plan, const Planes& image) {
  const Planes match = matches_of(plan, image);
  const Rect& rect = image.rect();
  SwNlmTwin twin{Planes(image.channels(), rect)};
  for (int32_t y = 0; y < rect.height; ++y) {
    for (int32_t x = 0; x < rect.width; ++x) {
      if (plan.joint != 0) {
        filter_pixel(plan, match, image, 0, image.channels(), x, y, twin);
      } else {
        filter_pixel(plan, match, image, 0, 1, x, y, twin);
        filter_pixel(plan, match, image, 1, image.channels() - 1, x, y, twin);
      }
    }
  }
  return twin;
}

}  // namespace grainless::test
