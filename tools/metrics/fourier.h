// SPDX-License-Identifier: MIT
// The discrete Fourier transform of any length, for metrics: fast where the length has small prime
// factors.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace grainless::tools {

using Complex = std::complex<double>;

// Row-major.
struct Spectrum {
  int32_t width = 0, height = 0;
  std::vector<Complex> at;

  Spectrum() = default;
  Spectrum(int32_t w, int32_t h) : width(w), height(h), at(size_t(w) * size_t(h)) {}
};

// sum f(x, y) exp(-2 pi i (u x / width + v y / height)), in place; of the backward transform the
// exponent is positive and the sum divided by width * height.
void forward_transform(Spectrum& data);
void backward_transform(Spectrum& data);

}  // namespace grainless::tools
