// SPDX-License-Identifier: MIT
#include "fsim.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "engine/boundary/pixel_math.h"
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
constexpr double kRadialDeviation = 0.597837001, kAngularDeviation = std::numbers::pi / 4.8;
constexpr double kSmallest = 1e-4;                             // epsilon of the phase congruency
constexpr double kT1 = 0.85, kT2 = 160, kT3 = 200, kT4 = 200;  // of PC, gradient, I and Q
constexpr double kLambda = 0.03;                               // exponent of the chrominances
constexpr int32_t kSide = 256;
constexpr double kLeastWeight = 1e-9;  // so that pictures without any feature have a value

// Not in the paper, but in the authors' program, which has Kovesi's phase congruency ("Phase
// congruency detects corners and edges", 2003): a low-pass for the corners of the spectrum, and
// what is taken off the energy, in deviations above the mean of noise alone.
constexpr double kCutoff = 0.45;  // cycles a pixel
constexpr int32_t kCutoffOrder = 15;
constexpr double kNoiseDeviations = 2, kNoiseShare = 1 / 1.7;

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

// Scharr's gradient magnitude; outside is 0, as in the authors' program.
std::vector<double> gradient_of(const Reduced& image) {
  std::vector<double> gradient(image.luma.size());
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const auto at = [&](int32_t dx, int32_t dy) {
        const int32_t u = x + dx, v = y + dy;
        const bool inside = u >= 0 && v >= 0 && u < image.width && v < image.height;
        return inside ? image.luma[size_t(v) * size_t(image.width) + size_t(u)] : 0.0;
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

// Log-Gabor filters (the paper's equation 3) of a spectrum: products of a part of each scale and
// one of each orientation. They are 0 at frequency 0, whose logarithm is infinite.
struct FilterBank {
  std::vector<double> radial[kScales], angular[kOrientations];

  FilterBank(int32_t width, int32_t height) {
    for (int32_t v = 0; v < height; ++v) {
      for (int32_t u = 0; u < width; ++u) {
        const double fx = double(2 * u < width ? u : u - width) / width;
        const double fy = double(2 * v < height ? v : v - height) / height;
        add(std::log(std::hypot(fx, fy)), std::atan2(-fy, fx));
      }
    }
  }

 private:
  // The radius is in cycles a pixel.
  void add(double log_radius, double angle) {
    const double corners = std::exp(2 * kCutoffOrder * (log_radius - std::log(kCutoff)));
    for (int32_t s = 0; s < kScales; ++s) {
      const double centre = -std::log(kFinestPeriod * (1 << s));
      const double distance = (log_radius - centre) / kRadialDeviation;
      radial[s].push_back(std::exp(-distance * distance / 2) / (1 + corners));
    }
    for (int32_t o = 0; o < kOrientations; ++o) {
      const double turn = angle - std::numbers::pi * o / kOrientations;
      const double distance = std::remainder(turn, 2 * std::numbers::pi) / kAngularDeviation;
      angular[o].push_back(std::exp(-distance * distance / 2));
    }
  }
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// The filters of one orientation and what they find. They pass one half of the frequencies, so
// that real and imaginary part of a response are the even and the odd filter's.
struct Orientation {
  std::vector<double> filters[kScales];
  std::vector<Complex> responses[kScales];

  Orientation(const Spectrum& spectrum, const FilterBank& bank, int32_t number) {
    for (int32_t s = 0; s < kScales; ++s) {
      Spectrum response = spectrum;
      for (size_t i = 0; i < response.at.size(); ++i) {
        const double filter = bank.radial[s][i] * bank.angular[number][i];
        filters[s].push_back(filter);
        response.at[i] *= filter;
      }
      backward_transform(response);
      responses[s] = std::move(response.at);
    }
  }
};

// Energy that white noise alone hardly exceeds. Its power is that of the finest scale, whose
// response to the picture is mostly noise: half of a Rayleigh distribution's squares are below
// ln 2 times their mean. The sum of the even filters turns it into a normal distribution, whose
// length with the odd one's is Rayleigh's again.
double noise_energy(const Orientation& orientation, int32_t width, int32_t height) {
  std::vector<double> squares;
  for (const Complex& response : orientation.responses[0]) squares.push_back(std::norm(response));
  double finest = 0, all = 0;
  for (int32_t v = 0; v < height; ++v) {
    for (int32_t u = 0; u < width; ++u) {
      const size_t at = size_t(v) * size_t(width) + size_t(u);
      const size_t opposite =
          size_t((height - v) % height) * size_t(width) + size_t((width - u) % width);
      double even = 0;
      for (const auto& filter : orientation.filters) even += (filter[at] + filter[opposite]) / 2;
      all += even * even;
      finest += orientation.filters[0][at] * orientation.filters[0][at];
    }
  }
  const double power = median_of(std::move(squares)) / std::numbers::ln2 / finest;
  const double mean = std::sqrt(std::numbers::pi / 2);
  const double deviation = std::sqrt(2 - std::numbers::pi / 2);
  return std::sqrt(power * all) * (mean + kNoiseDeviations * deviation) * kNoiseShare;
}

// Kovesi's second measure of a pixel's local energy, finer than the length of the sum: each
// scale's part along the sum's direction less its part across it.
double energy_at(const Orientation& orientation, size_t at) {
  Complex sum;
  for (const auto& responses : orientation.responses) sum += responses[at];
  const Complex direction = sum / (std::abs(sum) + kSmallest);
  double energy = 0;
  for (const auto& responses : orientation.responses) {
    const Complex turned = responses[at] * std::conj(direction);
    energy += turned.real() - std::abs(turned.imag());
  }
  return energy;
}

// Equation 4: local energy over the sum of amplitudes. NaN everywhere where a value is not finite.
std::vector<double> congruency_of(const Reduced& image) {
  Spectrum spectrum(image.width, image.height);
  std::copy(image.luma.begin(), image.luma.end(), spectrum.at.begin());
  forward_transform(spectrum);
  std::vector<double> energy(image.luma.size()), amplitude(image.luma.size(), kSmallest);
  if (!std::isfinite(std::abs(spectrum.at[0]))) {
    std::fill(energy.begin(), energy.end(), std::nan(""));
    return energy;
  }
  const FilterBank bank(image.width, image.height);
  for (int32_t o = 0; o < kOrientations; ++o) {
    const Orientation orientation(spectrum, bank, o);
    const double noise = noise_energy(orientation, image.width, image.height);
    for (size_t i = 0; i < energy.size(); ++i) {
      energy[i] += std::max(0.0, energy_at(orientation, i) - noise);
      for (const auto& responses : orientation.responses) amplitude[i] += std::abs(responses[i]);
    }
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
