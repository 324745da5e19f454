// SPDX-License-Identifier: MIT
#include "reference_dft.h"

#include <cmath>
#include <complex>
#include <numbers>

namespace grainless::test {
namespace {

using Spectrum = std::vector<std::complex<double>>;

// Orthonormal DFT of the `length` values that stand `between` apart, from each of `starts` on.
void transform(Spectrum& values, const std::vector<int32_t>& starts, int32_t length,
               int32_t between, double sign) {
  for (int32_t start : starts) {
    Spectrum out(length);
    for (int32_t k = 0; k < length; ++k) {
      for (int32_t i = 0; i < length; ++i) {
        const double angle = sign * 2 * std::numbers::pi * k * i / length;
        out[k] += values[start + i * between] * std::polar(1.0, angle);
      }
    }
    for (int32_t k = 0; k < length; ++k) {
      values[start + k * between] = out[k] / std::sqrt(1.0 * length);
    }
  }
}

void transform_all(Spectrum& values, int32_t side, int32_t count, double sign) {
  std::vector<int32_t> rows, columns, pixels;
  for (int32_t i = 0; i < count * side; ++i) rows.push_back(i * side);
  for (int32_t i = 0; i < count * side; ++i) columns.push_back(i / side * side * side + i % side);
  for (int32_t i = 0; i < side * side; ++i) pixels.push_back(i);
  transform(values, rows, side, 1, sign);
  transform(values, columns, side, side, sign);
  transform(values, pixels, count, side * side, sign);
}

}  // namespace

double reference_dft_group(std::vector<std::vector<double>>& patches, int32_t side,
                           double threshold) {
  const int32_t count = static_cast<int32_t>(patches.size()), size = side * side;
  Spectrum values;
  for (const std::vector<double>& patch : patches) {
    values.insert(values.end(), patch.begin(), patch.end());
  }
  transform_all(values, side, count, -1);
  double retained = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool kept = i == 0 || std::abs(values[i]) > threshold;
    retained += kept;
    if (!kept) values[i] = 0;
  }
  transform_all(values, side, count, 1);
  for (int32_t i = 0; i < count * size; ++i) patches[i / size][i % size] = values[i].real();
  return 1 / retained;
}

}  // namespace grainless::test
