// SPDX-License-Identifier: MIT
#include "reference_dct.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "engine/boundary/pixel_math.h"

namespace grainless::test {
namespace {

using Patch = std::vector<double>;  // row-major

// DCT-II, row-major, a frequency a row.
Patch cosines(int32_t side) {
  Patch matrix;
  for (int32_t k = 0; k < side; ++k) {
    const double scale = std::sqrt((k == 0 ? 1.0 : 2.0) / side);
    for (int32_t i = 0; i < side; ++i) {
      matrix.push_back(scale * std::cos(std::numbers::pi * (i + 0.5) * k / side));
    }
  }
  return matrix;
}

Patch transformed(const Patch& in, const Patch& matrix, int32_t side, bool back) {
  Patch half(in.size(), 0.0), out(in.size(), 0.0);
  const auto at = [&](int32_t k, int32_t i) { return matrix[back ? i * side + k : k * side + i]; };
  for (int32_t y = 0; y < side; ++y) {
    for (int32_t k = 0; k < side; ++k) {
      for (int32_t x = 0; x < side; ++x) half[y * side + k] += at(k, x) * in[y * side + x];
    }
  }
  for (int32_t k = 0; k < side; ++k) {
    for (int32_t x = 0; x < side; ++x) {
      for (int32_t y = 0; y < side; ++y) out[k * side + x] += at(k, y) * half[y * side + x];
    }
  }
  return out;
}

Patch patch_at(const Planes& image, int32_t c, int32_t left, int32_t top, int32_t side) {
  Patch patch;
  for (int32_t y = top; y < top + side; ++y) {
    for (int32_t x = left; x < left + side; ++x) {
      patch.push_back(
          *image.at(c, reflect(x, image.rect().width), reflect(y, image.rect().height)));
    }
  }
  return patch;
}

// The filtered patch, and its weight.
std::pair<Patch, double> filtered(const Patch& noisy, const Patch* pilot, const Patch& matrix,
                                  int32_t side, double shrink) {
  Patch own = transformed(noisy, matrix, side, false);
  const Patch guide = pilot != nullptr ? transformed(*pilot, matrix, side, false) : own;
  double squares = 1;
  for (size_t i = 1; i < own.size(); ++i) {
    const double ratio = guide[i] * shrink;
    const double weight =
        pilot == nullptr ? (std::abs(own[i]) < shrink ? 0.0 : 1.0) : 1 - 1 / (1 + ratio * ratio);
    own[i] *= weight;
    squares += weight * weight;
  }
  return {transformed(own, matrix, side, true), 1 / squares};
}

void run_stage(const DctPlan& plan, int32_t s, const Planes& noisy, int32_t c, Planes& estimate) {
  const int32_t width = noisy.rect().width, height = noisy.rect().height;
  const int32_t side = plan.patch, step = plan.stage[s].step;
  std::vector<double> values(static_cast<size_t>(width) * height, 0.0), weights = values;
  const Patch matrix = cosines(side);
  const int32_t first = -((side - 1) / step) * step;
  for (int32_t top = first; top < height; top += step) {
    for (int32_t left = first; left < width; left += step) {
      const Patch own = patch_at(noisy, c, left, top, side);
      const Patch guide = patch_at(estimate, c, left, top, side);
      const auto [patch, weight] =
          filtered(own, s > 0 ? &guide : nullptr, matrix, side, plan.stage[s].shrink[c]);
      for (int32_t i = 0; i < side * side; ++i) {
        const int32_t x = left + i % side, y = top + i / side;
        if (x < 0 || y < 0 || x >= width || y >= height) continue;
        values[y * width + x] += weight * patch[i];
        weights[y * width + x] += weight;
      }
    }
  }
  for (int32_t i = 0; i < width * height; ++i) {
    *estimate.at(c, i % width, i / width) = static_cast<float>(values[i] / weights[i]);
  }
}

}  // namespace

Planes reference_dct(const DctPlan& plan, const Planes& image) {
  Planes result(image.channels(), image.rect());
  for (int32_t c = 0; c < image.channels(); ++c) {
    for (int32_t y = 0; y < image.rect().height; ++y) {
      for (int32_t x = 0; x < image.rect().width; ++x) *result.at(c, x, y) = *image.at(c, x, y);
    }
    for (int32_t s = 0; s < plan.stage_count && plan.stage[s].shrink[c] > 0; ++s) {
      run_stage(plan, s, image, c, result);
    }
  }
  return result;
}

}  // namespace grainless::test
