// SPDX-License-Identifier: MIT
#include "tests/support/reference_fsim.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>

namespace grainless::test {
namespace {

using Complex = std::complex<double>;
using Plane = std::vector<double>;

constexpr double kPi = std::numbers::pi;
constexpr int kScales = 4, kOrientations = 4;

struct Size {
  int32_t width, height;
  size_t pixels() const { return size_t(width) * size_t(height); }
  size_t at(int32_t x, int32_t y) const { return size_t(y) * size_t(width) + size_t(x); }
};

// `count` sums over lines of `size` samples that are `step` apart.
void transform_lines(std::vector<Complex>& data, int32_t size, size_t step, size_t from, int sign) {
  std::vector<Complex> waves, sums;
  for (int32_t k = 0; k < size; ++k) waves.push_back(std::polar(1.0, sign * 2 * kPi * k / size));
  for (int64_t u = 0; u < size; ++u) {
    Complex sum = 0;
    for (int64_t x = 0; x < size; ++x) {
      sum += data[from + size_t(x) * step] * waves[size_t(u * x % size)];
    }
    sums.push_back(sum);
  }
  for (size_t u = 0; u < sums.size(); ++u) data[from + u * step] = sums[u];
}

void transform(std::vector<Complex>& data, Size size, int sign) {
  for (int32_t y = 0; y < size.height; ++y) {
    transform_lines(data, size.width, 1, size.at(0, y), sign);
  }
  for (int32_t x = 0; x < size.width; ++x) {
    transform_lines(data, size.height, size_t(size.width), size.at(x, 0), sign);
  }
}

double frequency(int32_t number, int32_t size) {
  return double(2 * number < size ? number : number - size) / size;
}

// A log-Gabor filter's part of one scale, with the low-pass.
Plane radial_filter(Size size, int scale) {
  Plane filter;
  for (int32_t v = 0; v < size.height; ++v) {
    for (int32_t u = 0; u < size.width; ++u) {
      const double radius = std::hypot(frequency(u, size.width), frequency(v, size.height));
      const double octaves = std::log(radius * 6 * (1 << scale)) / 0.597837001;
      const double low_pass = 1 / (1 + std::pow(radius / 0.45, 30));
      filter.push_back(radius == 0 ? 0 : std::exp(-octaves * octaves / 2) * low_pass);
    }
  }
  return filter;
}

Plane angular_filter(Size size, int orientation) {
  Plane filter;
  for (int32_t v = 0; v < size.height; ++v) {
    for (int32_t u = 0; u < size.width; ++u) {
      const double angle = std::atan2(-frequency(v, size.height), frequency(u, size.width));
      const double turn = std::remainder(angle - kPi * orientation / kOrientations, 2 * kPi);
      filter.push_back(std::exp(-std::pow(turn / (kPi / 4.8), 2) / 2));
    }
  }
  return filter;
}

double median_of(Plane values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// What white noise adds to the energy at most, over the median of its finest responses' squares.
double noise_gain(Size size, const Plane (&radial)[kScales], const Plane& angular) {
  double finest = 0, even = 0;
  for (int32_t v = 0; v < size.height; ++v) {
    for (int32_t u = 0; u < size.width; ++u) {
      const size_t at = size.at(u, v);
      const size_t behind = size.at((size.width - u) % size.width, (size.height - v) % size.height);
      double all = 0;
      for (const Plane& scale : radial) all += scale[at];
      finest += std::pow(radial[0][at] * angular[at], 2);
      even += std::pow(all * (angular[at] + angular[behind]) / 2, 2);
    }
  }
  const double mean = std::sqrt(kPi / 2), deviation = std::sqrt(2 - kPi / 2);
  return std::sqrt(even / finest / std::numbers::ln2) * (mean + 2 * deviation) / 1.7;
}

Plane congruency_of(const Plane& luma, Size size) {
  std::vector<Complex> spectrum(luma.begin(), luma.end());
  transform(spectrum, size, -1);
  Plane radial[kScales];
  for (int s = 0; s < kScales; ++s) radial[s] = radial_filter(size, s);
  Plane energies(size.pixels()), amplitudes(size.pixels(), 1e-4);
  for (int o = 0; o < kOrientations; ++o) {
    const Plane angular = angular_filter(size, o);
    std::vector<Complex> responses[kScales], sums(size.pixels());
    for (int s = 0; s < kScales; ++s) {
      for (size_t i = 0; i < size.pixels(); ++i) {
        responses[s].push_back(spectrum[i] * radial[s][i] * angular[i] / double(size.pixels()));
      }
      transform(responses[s], size, 1);
      for (size_t i = 0; i < size.pixels(); ++i) {
        sums[i] += responses[s][i];
        amplitudes[i] += std::abs(responses[s][i]);
      }
    }
    Plane squares;
    for (const Complex& response : responses[0]) squares.push_back(std::norm(response));
    const double noise = std::sqrt(median_of(squares)) * noise_gain(size, radial, angular);
    for (size_t i = 0; i < size.pixels(); ++i) {
      const Complex direction = sums[i] / (std::abs(sums[i]) + 1e-4);
      double energy = 0;
      for (const auto& response : responses) {
        const Complex turned = response[i] * std::conj(direction);
        energy += turned.real() - std::abs(turned.imag());
      }
      energies[i] += std::max(energy - noise, 0.0);
    }
  }
  for (size_t i = 0; i < size.pixels(); ++i) energies[i] /= amplitudes[i];
  return energies;
}

Plane gradient_of(const Plane& luma, Size size) {
  const auto value = [&](int32_t x, int32_t y) {
    const bool inside = x >= 0 && y >= 0 && x < size.width && y < size.height;
    return inside ? luma[size.at(x, y)] : 0.0;
  };
  constexpr double kShares[3] = {3, 10, 3};
  Plane gradient;
  for (int32_t y = 0; y < size.height; ++y) {
    for (int32_t x = 0; x < size.width; ++x) {
      double gx = 0, gy = 0;
      for (int k = -1; k <= 1; ++k) {
        gx += kShares[k + 1] / 16 * (value(x + 1, y + k) - value(x - 1, y + k));
        gy += kShares[k + 1] / 16 * (value(x + k, y + 1) - value(x + k, y - 1));
      }
      gradient.push_back(std::hypot(gx, gy));
    }
  }
  return gradient;
}

double similarity(double a, double b, double constant) {
  return (2 * a * b + constant) / (a * a + b * b + constant);
}

}  // namespace

double reference_fsim(const std::vector<double>& a, const std::vector<double>& b, int32_t width,
                      int32_t height) {
  const Size size{width, height};
  const Plane congruency[2] = {congruency_of(a, size), congruency_of(b, size)};
  const Plane gradient[2] = {gradient_of(a, size), gradient_of(b, size)};
  double sum = 0, weights = 0;
  for (size_t i = 0; i < size.pixels(); ++i) {
    const double weight = std::max({congruency[0][i], congruency[1][i], 1e-9});
    sum += weight * similarity(congruency[0][i], congruency[1][i], 0.85) *
           similarity(gradient[0][i], gradient[1][i], 160);
    weights += weight;
  }
  return sum / weights;
}

}  // namespace grainless::test
