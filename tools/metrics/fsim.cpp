// SPDX-License-Identifier: MIT
#include "fsim.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "engine/pixel_math.h"
#include "fourier.h"

namespace grainless::tools {

// Planes of one size, row-major.
struct FsimFeatures {
  int32_t width, height;
  std::vector<double> congruency, gradient;
  std::vector<double> chroma[2];  // I and Q, of colour pictures
};

namespace {

// The paper's section IV.A. The radial filter's deviation is given as ln of a ratio, the angular
// one's in radians.
constexpr int32_t kScales = 4, kOrientations = 4;
constexpr double kFinestPeriod = 6;  // pixels; doubles from scale to scale
constexpr double kRadialDeviation = 0.5978, kAngularDeviation = 0.6545;
constexpr double kSmallest = 1e-4;                             // epsilon of the phase congruency
constexpr double kT1 = 0.85, kT2 = 160, kT3 = 200, kT4 = 200;  // of PC, gradient, I and Q
constexpr double kLambda = 0.03;                               // exponent of the chrominances
constexpr int32_t kSide = 256;
constexpr double kLeastWeight = 1e-9;  // so that pictures without any feature have a value

struct Reduced {
  int32_t width, height;
  std::vector<double> luma, chroma[2];
};

// Means of factor x factor pixels, of Y and, in colour, I and Q on the 8-bit scale.
Reduced reduce(const ConstImage& image) {
  const int32_t shorter = std::min(image.width, image.height);
  const int32_t factor = std::max(1, int32_t(std::lround(double(shorter) / kSide)));
  Reduced reduced{image.width / factor, image.height / factor, {}, {}};
  const size_t count = size_t(reduced.width) * size_t(reduced.height);
  const bool colour = image.format.colours() == 3;
  reduced.luma.resize(count);
  for (auto& plane : reduced.chroma) plane.resize(colour ? count : 0);
  const double share = 1.0 / (double(factor) * factor);
  for (int32_t y = 0; y < reduced.height * factor; ++y) {
    for (int32_t x = 0; x < reduced.width * factor; ++x) {
      const void* pixel = pixel_at(image, x, y);
      const size_t at = size_t(y / factor) * size_t(reduced.width) + size_t(x / factor);
      const auto part = [&](int32_t c) {
        return share * load_component(pixel, image.format.component, c);
      };
      const double r = part(0);
      if (!colour) {
        reduced.luma[at] += r;
        continue;
      }
      const double g = part(1), b = part(2);
      reduced.luma[at] += 0.299 * r + 0.587 * g + 0.114 * b;
      reduced.chroma[0][at] += 0.596 * r - 0.274 * g - 0.322 * b;
      reduced.chroma[1][at] += 0.211 * r - 0.523 * g + 0.312 * b;
    }
  }
  return reduced;
}

// Scharr's gradient magnitude; the border's pixels repeat outside.
std::vector<double> gradient_of(const Reduced& image) {
  std::vector<double> gradient(image.luma.size());
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const auto at = [&](int32_t dx, int32_t dy) {
        const int32_t u = std::clamp(x + dx, 0, image.width - 1);
        const int32_t v = std::clamp(y + dy, 0, image.height - 1);
        return image.luma[size_t(v) * size_t(image.width) + size_t(u)];
      };
      const double gx =
          3 * (at(1, -1) - at(-1, -1)) + 10 * (at(1, 0) - at(-1, 0)) + 3 * (at(1, 1) - at(-1, 1));
      const double gy =
          3 * (at(-1, 1) - at(-1, -1)) + 10 * (at(0, 1) - at(0, -1)) + 3 * (at(1, 1) - at(1, -1));
      gradient[size_t(y) * size_t(image.width) + size_t(x)] = std::hypot(gx, gy) / 16;
    }
  }
  return gradient;
}

// Polar coordinates of the frequencies of a spectrum, radius in cycles a pixel.
struct Frequencies {
  std::vector<double> log_radius, angle;

  Frequencies(int32_t width, int32_t height) {
    for (int32_t v = 0; v < height; ++v) {
      for (int32_t u = 0; u < width; ++u) {
        const double fx = double(u <= width / 2 ? u : u - width) / width;
        const double fy = double(v <= height / 2 ? v : v - height) / height;
        log_radius.push_back(std::log(std::hypot(fx, fy)));
        angle.push_back(std::atan2(-fy, fx));
      }
    }
  }
};

// Log-Gabor filter (the paper's equation 3) at one frequency; 0 at frequency 0, whose logarithm is
// infinite.
double log_gabor(double log_radius, double angle, int32_t scale, int32_t orientation) {
  const double centre = -std::log(kFinestPeriod * (1 << scale));
  const double radial = (log_radius - centre) / kRadialDeviation;
  const double turn = angle - std::numbers::pi * orientation / kOrientations;
  const double angular = std::remainder(turn, 2 * std::numbers::pi) / kAngularDeviation;
  return std::exp(-(radial * radial + angular * angular) / 2);
}

// Equation 4: local energy over the sum of amplitudes. The filters pass one half of the
// frequencies, so that real and imaginary part are the even and odd response.
std::vector<double> congruency_of(const Reduced& image) {
  Spectrum spectrum(image.width, image.height);
  std::copy(image.luma.begin(), image.luma.end(), spectrum.at.begin());
  forward_transform(spectrum);
  const Frequencies frequencies(image.width, image.height);
  std::vector<double> energy(image.luma.size()), amplitude(image.luma.size(), kSmallest);
  for (int32_t o = 0; o < kOrientations; ++o) {
    std::vector<Complex> sum(image.luma.size());
    for (int32_t s = 0; s < kScales; ++s) {
      Spectrum response = spectrum;
      for (size_t i = 0; i < response.at.size(); ++i) {
        response.at[i] *= log_gabor(frequencies.log_radius[i], frequencies.angle[i], s, o);
      }
      backward_transform(response);
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] += response.at[i];
        amplitude[i] += std::abs(response.at[i]);
      }
    }
    for (size_t i = 0; i < sum.size(); ++i) energy[i] += std::abs(sum[i]);
  }
  for (size_t i = 0; i < energy.size(); ++i) energy[i] /= amplitude[i];
  return energy;
}

std::unique_ptr<FsimFeatures> features_of(const ConstImage& image) {
  Reduced reduced = reduce(image);
  auto features = std::make_unique<FsimFeatures>();
  features->width = reduced.width;
  features->height = reduced.height;
  features->congruency = congruency_of(reduced);
  features->gradient = gradient_of(reduced);
  for (int c = 0; c < 2; ++c) features->chroma[c] = std::move(reduced.chroma[c]);
  return features;
}

double similarity(double a, double b, double constant) {
  return (2 * a * b + constant) / (a * a + b * b + constant);
}

// Opposite chrominances have a negative similarity, whose power is complex: its real part.
double power_of(double similarity) {
  const double size = std::pow(std::abs(similarity), kLambda);
  return similarity < 0 ? size * std::cos(std::numbers::pi * kLambda) : size;
}

}  // namespace

Fsim::Fsim(const ConstImage& reference) : reference_(features_of(reference)) {}
Fsim::~Fsim() = default;

std::optional<double> Fsim::of(const ConstImage& image) const {
  const FsimFeatures& a = *reference_;
  const auto b = features_of(image);
  double sum = 0, weights = 0;
  for (size_t i = 0; i < a.congruency.size(); ++i) {
    const double weight = std::max({a.congruency[i], b->congruency[i], kLeastWeight});
    double alike = similarity(a.congruency[i], b->congruency[i], kT1) *
                   similarity(a.gradient[i], b->gradient[i], kT2);
    if (!a.chroma[0].empty()) {
      alike *= power_of(similarity(a.chroma[0][i], b->chroma[0][i], kT3) *
                        similarity(a.chroma[1][i], b->chroma[1][i], kT4));
    }
    sum += alike * weight;
    weights += weight;
  }
  const double mean = sum / weights;
  if (!std::isfinite(mean)) return std::nullopt;
  return mean;
}

}  // namespace grainless::tools
