// SPDX-License-Identifier: MIT
#include "transforms.h"

#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace grainless {
namespace {

using Matrix = std::vector<double>;

Matrix dct_matrix(int32_t size) {
  Matrix m(static_cast<size_t>(size) * size);
  for (int32_t k = 0; k < size; ++k) {
    const double scale = std::sqrt((k == 0 ? 1.0 : 2.0) / size);
    for (int32_t i = 0; i < size; ++i) {
      m[k * size + i] = scale * std::cos(std::numbers::pi * (i + 0.5) * k / size);
    }
  }
  return m;
}

// Walsh functions in Hadamard's order: signs alone.
Matrix hadamard_matrix(int32_t size) {
  Matrix m(static_cast<size_t>(size) * size);
  for (uint32_t row = 0; row < static_cast<uint32_t>(size); ++row) {
    for (uint32_t i = 0; i < static_cast<uint32_t>(size); ++i) {
      m[row * size + i] = std::popcount(row & i) % 2 == 0 ? 1.0 : -1.0;
    }
  }
  return m;
}

// Analysis filters of a two-channel bank: low is centred between samples 0 and 1 of each pair, high
// takes half the difference of a pair.
struct FilterBank {
  std::vector<double> low;
  std::array<double, 2> high;
};

FilterBank filter_bank(Transform transform) {
  const double r = std::numbers::sqrt2 / 2;
  if (transform == Transform::kHaar) return {{r, r}, {r, -r}};
  // bior1.5: the long analysis low-pass has five vanishing moments in its dual.
  const double s = std::numbers::sqrt2 / 256;
  return {{3 * s, -3 * s, -22 * s, 22 * s, 128 * s, 128 * s, 22 * s, -22 * s, -3 * s, 3 * s},
          {r, -r}};
}

// One level of periodic analysis of the first n entries of v.
void analyse(const FilterBank& bank, std::vector<double>& v, int32_t n) {
  std::vector<double> out(n);
  const int32_t taps = static_cast<int32_t>(bank.low.size()), before = (taps - 2) / 2;
  for (int32_t i = 0; i < n / 2; ++i) {
    double low = 0;
    for (int32_t t = 0; t < taps; ++t) {
      const int32_t at = ((2 * i + t - before) % n + n) % n;
      low += bank.low[t] * v[at];
    }
    out[i] = low;
    out[n / 2 + i] = bank.high[0] * v[2 * i] + bank.high[1] * v[2 * i + 1];
  }
  std::copy(out.begin(), out.end(), v.begin());
}

Matrix wavelet_matrix(Transform transform, int32_t size) {
  const FilterBank bank = filter_bank(transform);
  Matrix m(static_cast<size_t>(size) * size);
  for (int32_t column = 0; column < size; ++column) {
    std::vector<double> unit(size, 0.0);
    unit[column] = 1;
    for (int32_t n = size; n > 1; n /= 2) analyse(bank, unit, n);
    for (int32_t row = 0; row < size; ++row) m[row * size + column] = unit[row];
  }
  return m;
}

void normalise_rows(Matrix& m, int32_t size) {
  for (int32_t row = 0; row < size; ++row) {
    double norm = 0;
    for (int32_t i = 0; i < size; ++i) norm += m[row * size + i] * m[row * size + i];
    for (int32_t i = 0; i < size; ++i) m[row * size + i] /= std::sqrt(norm);
  }
}

// Gauss-Jordan with row pivoting; the matrices here are well conditioned and at most 16 x 16.
Matrix inverse_of(Matrix m, int32_t size) {
  Matrix inverse(m.size(), 0.0);
  for (int32_t i = 0; i < size; ++i) inverse[i * size + i] = 1;
  for (int32_t column = 0; column < size; ++column) {
    int32_t pivot = column;
    for (int32_t row = column + 1; row < size; ++row) {
      if (std::abs(m[row * size + column]) > std::abs(m[pivot * size + column])) pivot = row;
    }
    for (int32_t i = 0; i < size; ++i) {
      std::swap(m[column * size + i], m[pivot * size + i]);
      std::swap(inverse[column * size + i], inverse[pivot * size + i]);
    }
    const double divisor = m[column * size + column];
    for (int32_t i = 0; i < size; ++i) {
      m[column * size + i] /= divisor;
      inverse[column * size + i] /= divisor;
    }
    for (int32_t row = 0; row < size; ++row) {
      const double factor = row == column ? 0.0 : m[row * size + column];
      for (int32_t i = 0; i < size; ++i) {
        m[row * size + i] -= factor * m[column * size + i];
        inverse[row * size + i] -= factor * inverse[column * size + i];
      }
    }
  }
  return inverse;
}

double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (int32_t k = 1; k < 40; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

}  // namespace

PatchBasis patch_basis(Transform transform, int32_t size) {
  if (size < 1 || transform == Transform::kDft) {
    throw std::logic_error("patch_basis: no such matrix");
  }
  const bool power_of_two = (size & (size - 1)) == 0;
  if (!power_of_two) transform = Transform::kDct;
  Matrix forward = transform == Transform::kDct        ? dct_matrix(size)
                   : transform == Transform::kHadamard ? hadamard_matrix(size)
                                                       : wavelet_matrix(transform, size);
  normalise_rows(forward, size);
  Matrix inverse = inverse_of(forward, size);
  return {transform, std::move(forward), std::move(inverse)};
}

std::vector<double> kaiser_window(int32_t size, double beta) {
  std::vector<double> window(size, 1.0);
  for (int32_t i = 0; i < size && size > 1; ++i) {
    const double t = 2.0 * i / (size - 1) - 1;
    window[i] = bessel_i0(beta * std::sqrt(1 - t * t)) / bessel_i0(beta);
  }
  return window;
}

}  // namespace grainless
