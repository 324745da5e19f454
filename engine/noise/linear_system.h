// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

namespace grainless {

template <size_t kSize>
using Vector = std::array<double, kSize>;
template <size_t kSize>
using Matrix = std::array<Vector<kSize>, kSize>;

// The solution x of a x = b, for a symmetric and positive definite a, with which Gaussian
// elimination needs no pivoting.
template <size_t kSize>
Vector<kSize> solved(Matrix<kSize> a, Vector<kSize> b) {
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t j = i + 1; j < kSize; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (size_t k = i; k < kSize; ++k) a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (size_t i = kSize; i-- > 0;) {
    for (size_t k = i + 1; k < kSize; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

}  // namespace grainless
