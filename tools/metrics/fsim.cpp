// SPDX-License-Identifier: MIT
#include "fsim.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "congruency.h"
#include "engine/boundary/pixel_math.h"

namespace grainless::tools {

// Planes of one size, row-major.
struct FsimFeatures {
  int32_t width, height;
  std::vector<float> congruency;
  std::vector<double> gradient;
  std::vector<double> chroma[2];  // I and Q, of colour pictures
};

struct FsimReference {
  PhaseCongruency congruency;
  FsimFeatures features;
};

namespace {

constexpr double kT1 = 0.85, kT2 = 160, kT3 = 200, kT4 = 200;  // of PC, gradient, I and Q
constexpr float kLambda = 0.03F;                               // exponent of the chrominances
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
      gradient[size_t(y) * size_t(image.width) + size_t(x)] = std::sqrt(gx * gx + gy * gy) / 16;
    }
  }
  return gradient;
}

FsimFeatures features_of(Reduced reduced, PhaseCongruency& congruency) {
  FsimFeatures features{
      reduced.width, reduced.height, congruency.of(reduced.luma), gradient_of(reduced), {}};
  for (int c = 0; c < 2; ++c) features.chroma[c] = std::move(reduced.chroma[c]);
  return features;
}

std::unique_ptr<FsimReference> reference_of(const ConstImage& image) {
  Reduced reduced = reduce(image);
  PhaseCongruency congruency(reduced.width, reduced.height);
  FsimFeatures features = features_of(std::move(reduced), congruency);
  return std::make_unique<FsimReference>(std::move(congruency), std::move(features));
}

double similarity(double a, double b, double constant) {
  return (2 * a * b + constant) / (a * a + b * b + constant);
}

// Opposite chrominances have a negative similarity, whose power is complex: its real part.
double power_of(double similarity) {
  const double size = double(std::pow(float(std::abs(similarity)), kLambda));
  return similarity < 0 ? size * std::cos(std::numbers::pi * double(kLambda)) : size;
}

}  // namespace

Fsim::Fsim(const ConstImage& reference) : reference_(reference_of(reference)) {}
Fsim::~Fsim() = default;

std::optional<double> Fsim::of(const ConstImage& image) {
  const FsimFeatures& a = reference_->features;
  const FsimFeatures b = features_of(reduce(image), reference_->congruency);
  double sum = 0, weights = 0;
  for (size_t i = 0; i < a.congruency.size(); ++i) {
    const double from = double(a.congruency[i]), to = double(b.congruency[i]);
    const double weight = std::max({from, to, kLeastWeight});
    double alike = similarity(from, to, kT1) * similarity(a.gradient[i], b.gradient[i], kT2);
    if (!a.chroma[0].empty()) {
      alike *= power_of(similarity(a.chroma[0][i], b.chroma[0][i], kT3) *
                        similarity(a.chroma[1][i], b.chroma[1][i], kT4));
    }
    sum += alike * weight;
    weights += weight;
  }
  const double mean = sum / weights;
  if (!std::isfinite(mean)) return std::nullopt;
  return mean;
}

}  // namespace grainless::tools
