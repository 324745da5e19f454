// SPDX-License-Identifier: MIT
// The discrete Fourier transform of planes of any size, for metrics.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace grainless::tools {

// Planes stand in blocks of so many columns, whose rows follow one another: what a transform down
// the columns reads and writes is in one piece.
inline constexpr int32_t kFourierLanes = 16;

inline int32_t fourier_blocks(int32_t width) {
  return (width + kFourierLanes - 1) / kFourierLanes;
}

// Memory for the planes of a picture in one piece, in large pages where the system has them: a
// quarter of the time would be the system's for fresh small ones. It is not initialised.
class PlaneMemory {
 public:
  explicit PlaneMemory(size_t floats);

  // Of what is left; aligned for vectors. No more than the constructor was told.
  float* take(size_t floats);

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  std::unique_ptr<float, Free> memory_;
  size_t taken_ = 0;
};

// Samples of one kind, [block][row][column of the block], in memory of someone else. What pads the
// last block counts for nothing.
struct RealPlane {
  int32_t width = 0, height = 0;
  float* samples = nullptr;

  static size_t floats(int32_t width, int32_t height) {
    return size_t(fourier_blocks(width)) * size_t(height) * kFourierLanes;
  }
  size_t floats() const { return floats(width, height); }
  float* block(int32_t i) const { return samples + ptrdiff_t{i} * height * kFourierLanes; }
};

// The same of complex samples: a row of a block has its real parts, then its imaginary ones.
struct ComplexPlane {
  int32_t width = 0, height = 0;
  float* samples = nullptr;

  static size_t floats(int32_t width, int32_t height) {
    return 2 * RealPlane::floats(width, height);
  }
  ptrdiff_t block_floats() const { return ptrdiff_t{height} * 2 * kFourierLanes; }
  float* block(int32_t i) const { return samples + i * block_floats(); }
};

struct LineTables;

// Lengths of large prime factors: a transform is a sum of waves at evenly spaced places, which a
// longer transform of small factors gives at places closer together. Those wanted lie between, and
// a kernel of some samples (taps) takes them from there; that it weakens waves is made up for
// before (Fessler and Sutton, "Nonuniform fast Fourier transforms using min-max interpolation",
// 2003; their Kaiser-Bessel kernel).
struct Resampling {
  Resampling(int32_t size, int32_t longer_size);

  std::unique_ptr<LineTables> longer;
  int32_t taps;
  std::vector<float> gains;    // of the waves, before
  std::vector<int32_t> first;  // of the samples of a place
  std::vector<float> weights;  // [place][tap]
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
  std::vector<float> cosines, sines;       // of -2 pi k / size
  std::unique_ptr<Resampling> resampling;  // instead of these three
};

// In single precision: errors are some 1e-6 of the largest value.
class PlaneTransform {
 public:
  PlaneTransform(int32_t width, int32_t height);

  // spectrum(u, v) = sum (f(x, y) - base) exp(-2 pi i (u x / width + v y / height)), turned: u
  // counts its rows and v its columns. f is row-major; middle: of the spectrum's height and width.
  void forward(const float* f, float base, const ComplexPlane& middle,
               const ComplexPlane& spectrum);

  // The sum with a positive exponent of spectrum * a * b, filters of the spectrum's layout, in two
  // steps; all real and imaginary parts come out exchanged. First a block of the spectrum along x,
  // which becomes rows of a plane of the picture's size;
  void backward_along_x(const ComplexPlane& spectrum, const RealPlane& a, const RealPlane& b,
                        int32_t block, const ComplexPlane& middle);
  // then a block of that plane along y, to a block of another.
  void backward_along_y(const ComplexPlane& middle, int32_t block, float* to);

 private:
  LineTables along_x_, along_y_;
  // hwy::AlignedVector would go on without memory.
  hwy::AlignedFreeUniquePtr<float[]> line_, work_;
};

}  // namespace grainless::tools
