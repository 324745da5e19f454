// SPDX-License-Identifier: MIT
// The discrete Fourier transform of planes of any size, for metrics.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace grainless::tools {

inline constexpr int32_t kFourierLanes = 16;  // rows and columns are padded to multiples of it

// Complex samples, real and imaginary parts apart. Row-major; rows start aligned, and what pads
// them counts for nothing.
struct ComplexPlane {
  int32_t width = 0, height = 0;
  ptrdiff_t stride = 0;
  hwy::AlignedVector<float> re, im;

  ComplexPlane() = default;
  ComplexPlane(int32_t w, int32_t h);
};

// What a transform of one length needs beforehand.
struct LineTables {
  // The cosines and sines of a factor p, for sums and differences of opposite samples: rows k of
  // (p - 1) / 2 columns q, padded to multiples of 4.
  struct Factor {
    int32_t p, padded;
    std::vector<float> cosines, sines;
  };

  explicit LineTables(int32_t size);

  int32_t size;
  std::vector<Factor> factors;
  std::vector<float> cosines, sines;  // of 2 pi k / size
  // Lengths with a large prime factor, by Bluestein's chirps: n k = (n^2 + k^2 - (n - k)^2) / 2
  // makes the transform a convolution, which a longer transform of small factors does.
  std::unique_ptr<LineTables> convolution;
  std::vector<float> chirp_re, chirp_im;    // exp(-pi i k^2 / size)
  std::vector<float> kernel_re, kernel_im;  // transformed, over the convolution's length
};

// In single precision: errors are some 1e-6 of the largest value.
class PlaneTransform {
 public:
  PlaneTransform(int32_t width, int32_t height);

  // spectrum(u, v) = sum f(x, y) exp(-2 pi i (u x / width + v y / height)), turned: u counts its
  // rows and v its columns.
  void forward(const ComplexPlane& from, ComplexPlane& spectrum);

  // The sum with a positive exponent of spectrum * a * b; a and b are planes of the spectrum's
  // layout.
  void backward(const ComplexPlane& spectrum, const float* a, const float* b, ComplexPlane& to);

 private:
  LineTables along_x_, along_y_;
  hwy::AlignedVector<float> middle_re_, middle_im_;  // after one of two passes, either way
  hwy::AlignedVector<float> work_;
};

}  // namespace grainless::tools
