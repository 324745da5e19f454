// SPDX-License-Identifier: MIT
#include "square_blocks.h"

#include <cmath>
#include <numeric>

namespace grainless {
namespace {

std::vector<double> quadratic_basis(int32_t side) {
  const int32_t pixels = side * side;
  std::vector<double> basis(static_cast<size_t>(kSurfaceTerms) * pixels);
  for (int32_t i = 0; i < pixels; ++i) {
    const double x = i % side - 0.5 * (side - 1), y = i / side - 0.5 * (side - 1);
    const double terms[kSurfaceTerms] = {1, x, y, x * x, x * y, y * y};
    for (int32_t t = 0; t < kSurfaceTerms; ++t) basis[t * pixels + i] = terms[t];
  }
  for (int32_t t = 0; t < kSurfaceTerms; ++t) {  // Gram and Schmidt
    double* row = basis.data() + t * pixels;
    for (int32_t s = 0; s < t; ++s) {
      const double* other = basis.data() + s * pixels;
      const double dot = std::inner_product(row, row + pixels, other, 0.0);
      for (int32_t i = 0; i < pixels; ++i) row[i] -= dot * other[i];
    }
    const double norm = std::sqrt(std::inner_product(row, row + pixels, row, 0.0));
    for (int32_t i = 0; i < pixels; ++i) row[i] /= norm;
  }
  return basis;
}

}  // namespace

SurfaceBasis::SurfaceBasis(int32_t s) : side(s) {
  for (double value : quadratic_basis(s)) rows.push_back(static_cast<float>(value));
}

void gather(const SampleTile& tile, const BlockPlace& from, int32_t side,
            std::vector<float>& values) {
  const ptrdiff_t width = tile.width_at(from.level);
  const float* plane = tile.plane[from.level][from.channel].data() +
                       (from.y >> from.level) * width + (from.x >> from.level);
  for (int32_t y = 0; y < side; ++y) {
    std::copy(plane + y * width, plane + y * width + side,
              values.begin() + static_cast<ptrdiff_t>(y) * side);
  }
}

float plain_variance(const std::vector<float>& values, int32_t pixels, float& mean) {
  mean =
      std::accumulate(values.begin(), values.begin() + pixels, 0.0f) / static_cast<float>(pixels);
  float sum = 0;
  for (int32_t i = 0; i < pixels; ++i) sum += (values[i] - mean) * (values[i] - mean);
  return sum / static_cast<float>(pixels);
}

// Sums of kLanes interleaved parts, which compilers make vectors of: a single sum's additions wait
// for each other.
float dot_product(const float* a, const float* b, int32_t count) {
  constexpr int32_t kLanes = 8;
  float part[kLanes] = {};
  int32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int32_t lane = 0; lane < kLanes; ++lane) part[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) part[0] += a[i] * b[i];
  for (int32_t half = kLanes / 2; half > 0; half /= 2) {
    for (int32_t lane = 0; lane < half; ++lane) part[lane] += part[lane + half];
  }
  return part[0];
}

float residual_variance(std::vector<float>& values, const SurfaceBasis& basis) {
  const int32_t pixels = basis.side * basis.side;
  for (int32_t t = 0; t < kSurfaceTerms; ++t) {
    const float* row = basis.rows.data() + static_cast<size_t>(t) * pixels;
    const float dot = dot_product(row, values.data(), pixels);
    for (int32_t i = 0; i < pixels; ++i) values[i] -= dot * row[i];
  }
  return dot_product(values.data(), values.data(), pixels) /
         static_cast<float>(pixels - kSurfaceTerms);
}

}  // namespace grainless
