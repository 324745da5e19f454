// SPDX-License-Identifier: MIT
#include "fourier.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numbers>

namespace grainless::tools {
namespace {

// operator* asks for infinities, too, which costs more than the product.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Cooley and Tukey's decimation in time by the prime factors of the length.
class Transform {
 public:
  Transform(int32_t size, double sign) : size_(size_t(size)), roots_(size_) {
    for (size_t k = 0; k < size_; ++k) {
      roots_[k] = std::polar(1.0, sign * 2 * std::numbers::pi * double(k) / size);
    }
    size_t rest = size_;
    for (size_t p = 2; rest > 1; ++p) {
      for (; rest % p == 0; rest /= p) factors_.push_back(p);
    }
    part_.resize(factors_.empty() ? 1 : factors_.back());
  }

  void run(const Complex* from, Complex* to) { run(from, 1, to, size_, 0); }

 private:
  void run(const Complex* from, size_t stride, Complex* to, size_t size, size_t depth) {
    if (size == 1) {
      *to = *from;
      return;
    }
    const size_t p = factors_[depth], m = size / p;
    for (size_t r = 0; r < p; ++r) run(from + r * stride, stride * p, to + r * m, m, depth + 1);
    for (size_t k = 0; k < m; ++k) {
      for (size_t r = 0; r < p; ++r) part_[r] = times(to[r * m + k], roots_[r * k * stride]);
      if (p == 2) {
        to[k] = part_[0] + part_[1];
        to[k + m] = part_[0] - part_[1];
      } else {
        combine(to + k, m, p);
      }
    }
  }

  // A plain transform of the p parts.
  void combine(Complex* to, size_t m, size_t p) {
    const size_t step = size_ / p;
    for (size_t q = 0; q < p; ++q) {
      Complex sum = 0;
      for (size_t r = 0; r < p; ++r) sum += times(part_[r], roots_[q * r % p * step]);
      to[q * m] = sum;
    }
  }

  size_t size_;
  std::vector<Complex> roots_, part_;
  std::vector<size_t> factors_;  // ascending: part_ has room for the last
};

// Lengths with a large prime factor, by Bluestein's chirps: n k = (n^2 + k^2 - (n - k)^2) / 2 makes
// the transform a convolution, which a transform of a power of two does.
class ChirpTransform {
 public:
  ChirpTransform(int32_t size, double sign)
      : length_(int32_t(std::bit_ceil(uint32_t(2 * size - 1)))),
        transform_(length_, -1),
        chirp_(size_t(size)),
        kernel_(size_t(length_)),
        work_(size_t(length_)),
        spectrum_(size_t(length_)) {
    std::vector<Complex> mirrored(kernel_.size());
    for (int64_t k = 0; k < size; ++k) {
      const auto turns = double(k * k % (2 * size)) / (2 * size);
      chirp_[size_t(k)] = std::polar(1.0, sign * 2 * std::numbers::pi * turns);
      mirrored[size_t(k)] = std::conj(chirp_[size_t(k)]);
      if (k > 0) mirrored[size_t(length_ - k)] = mirrored[size_t(k)];
    }
    transform_.run(mirrored.data(), kernel_.data());
  }

  void run(const Complex* from, Complex* to) {
    std::fill(work_.begin(), work_.end(), 0);
    for (size_t k = 0; k < chirp_.size(); ++k) work_[k] = times(from[k], chirp_[k]);
    transform_.run(work_.data(), spectrum_.data());
    // A backward transform is a forward one of conjugates.
    for (size_t k = 0; k < work_.size(); ++k) work_[k] = std::conj(times(spectrum_[k], kernel_[k]));
    transform_.run(work_.data(), spectrum_.data());
    for (size_t k = 0; k < chirp_.size(); ++k) {
      to[k] = times(std::conj(spectrum_[k]), chirp_[k]) / double(length_);
    }
  }

 private:
  int32_t length_;
  Transform transform_;
  std::vector<Complex> chirp_, kernel_, work_, spectrum_;
};

// A plain transform of a prime factor beyond this takes longer than the chirps.
constexpr int32_t kLargestFactor = 13;

bool has_small_factors(int32_t size) {
  for (int32_t p = 2; p <= kLargestFactor; ++p) {
    while (size % p == 0) size /= p;
  }
  return size == 1;
}

using Line = std::function<void(const Complex*, Complex*)>;

Line line_transform(int32_t size, double sign) {
  if (has_small_factors(size)) {
    return
        [t = Transform(size, sign)](const Complex* from, Complex* to) mutable { t.run(from, to); };
  }
  return [t = ChirpTransform(size, sign)](const Complex* from, Complex* to) mutable {
    t.run(from, to);
  };
}

void transform(Spectrum& data, double sign) {
  const auto width = size_t(data.width), height = size_t(data.height);
  const Line rows = line_transform(data.width, sign);
  const Line columns = line_transform(data.height, sign);
  std::vector<Complex> in(std::max(width, height)), out(in.size());
  for (size_t y = 0; y < height; ++y) {
    std::copy_n(&data.at[y * width], width, in.data());
    rows(in.data(), &data.at[y * width]);
  }
  for (size_t x = 0; x < width; ++x) {
    for (size_t y = 0; y < height; ++y) in[y] = data.at[y * width + x];
    columns(in.data(), out.data());
    for (size_t y = 0; y < height; ++y) data.at[y * width + x] = out[y];
  }
}

}  // namespace

void forward_transform(Spectrum& data) {
  transform(data, -1);
}

void backward_transform(Spectrum& data) {
  transform(data, 1);
  const double scale = 1 / (double(data.width) * data.height);
  for (Complex& value : data.at) value *= scale;
}

}  // namespace grainless::tools
