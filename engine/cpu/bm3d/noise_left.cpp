// SPDX-License-Identifier: MIT
#include "noise_left.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bands.h"
#include "engine/boundary/bm3d_math.h"

namespace grainless {
namespace {

// Pixels of first..end-1 within kShareRadius of i.
int32_t counted(int32_t i, int32_t first, int32_t end) {
  return std::min(i + kShareRadius + 1, end) - std::max(i - kShareRadius, first);
}

// Sums of 2 kShareRadius + 1 neighbours in a row of squares, 0 beyond its ends.
void sum_row(const float* noisy, const float* left, int32_t width, float* squares, float* sums) {
  std::fill_n(squares, width + 2 * kShareRadius, 0.0f);
  for (int32_t x = 0; x < width; ++x) {
    const float lost = noisy[x] - left[x];
    squares[x + kShareRadius] = lost * lost;
  }
  std::copy_n(squares, width, sums);
  for (int32_t k = 1; k <= 2 * kShareRadius; ++k) {
    for (int32_t x = 0; x < width; ++x) sums[x] += squares[x + k];
  }
}

}  // namespace

void NoiseLeft::leave(const Planes& estimate, const Bm3dStage& next) {
  leave_picture(estimate, next.share);
  measure_share(next);
}

void NoiseLeft::leave_picture(const Planes& estimate, float least) {
  const Rect& rect = estimate.rect();
  Planes result(estimate.channels(), rect);
  over_bands(pool_, callbacks_, rect.y, rect.bottom(), [&](int32_t y0, int32_t y1) {
    for (int32_t c = 0; c < result.channels(); ++c) {
      for (int32_t y = y0; y < y1; ++y) {
        const float* before = picture().at(c, rect.x, y);
        const float* share = share_.channels() > 0 ? share_.at(c, rect.x, y) : nullptr;
        const float* in = estimate.at(c, rect.x, y);
        float* out = result.at(c, rect.x, y);
        for (int32_t x = 0; x < rect.width; ++x) {
          const float part = share != nullptr ? least / share[x] : least;
          out[x] = in[x] + part * (before[x] - in[x]);
        }
      }
    }
  });
  picture_ = std::move(result);
}

void NoiseLeft::measure_share(const Bm3dStage& next) {
  const Rect& rect = picture_.rect();
  Planes result(picture_.channels(), rect);
  over_bands(pool_, callbacks_, rect.y, rect.bottom(), [&](int32_t y0, int32_t y1) {
    const int32_t first = std::max(y0 - kShareRadius, rect.y);
    const int32_t end = std::min(y1 + kShareRadius, rect.bottom()), width = rect.width;
    std::vector<float> squares(width + 2 * kShareRadius), sums(width);
    std::vector<float> rows(static_cast<size_t>(end - first) * width);
    for (int32_t c = 0; c < result.channels(); ++c) {
      for (int32_t y = first; y < end; ++y) {
        sum_row(noisy_.at(c, rect.x, y), picture_.at(c, rect.x, y), width, squares.data(),
                rows.data() + static_cast<size_t>(y - first) * width);
      }
      for (int32_t y = y0; y < y1; ++y) {
        const int32_t high = std::max(y - kShareRadius, first);
        const int32_t count = counted(y, rect.y, rect.bottom());
        std::copy_n(rows.data() + static_cast<size_t>(high - first) * width, width, sums.data());
        for (int32_t k = 1; k < count; ++k) {
          const float* row = rows.data() + static_cast<size_t>(high + k - first) * width;
          for (int32_t x = 0; x < width; ++x) sums[x] += row[x];
        }
        float* out = result.at(c, rect.x, y);
        for (int32_t x = 0; x < width; ++x) {
          out[x] = noise_share(sums[x], count * counted(x, 0, width), next.sigma[c], next.share);
        }
      }
    }
  });
  share_ = std::move(result);
}

}  // namespace grainless
