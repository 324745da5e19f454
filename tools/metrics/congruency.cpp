// SPDX-License-Identifier: MIT
#include "congruency.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/metrics/congruency.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "hwy/contrib/math/math-inl.h"

#ifndef GRAINLESS_CONGRUENCY_CONSTANTS
#define GRAINLESS_CONGRUENCY_CONSTANTS
namespace grainless::tools {

// The paper's section IV.A. The radial filter's deviation is given as ln of a ratio, the angular
// one's in radians.
inline constexpr float kFinestPeriod = 6;  // pixels; doubles from scale to scale
inline constexpr float kRadialDeviation = 0.597837001F;
inline constexpr float kAngularDeviation = std::numbers::pi_v<float> / 4.8F;
inline constexpr float kSmallest = 1e-4F;  // epsilon of the phase congruency

// Not in the paper, but in the authors' program, which has Kovesi's phase congruency ("Phase
// congruency detects corners and edges", 2003): a low-pass for the corners of the spectrum, and
// what is taken off the energy, in deviations above the mean of noise alone.
inline constexpr float kCutoff = 0.45F;  // cycles a pixel
inline constexpr int32_t kCutoffOrder = 15;
inline constexpr double kNoiseDeviations = 2, kNoiseShare = 1 / 1.7;

// Planes of the responses to one orientation's filters, and where their energy is added up.
struct EnergySums {
  const float *re[kScales], *im[kScales];
  size_t count;  // a multiple of kFourierLanes
  float noise;
  float *energy, *amplitude;
};

}  // namespace grainless::tools
#endif

HWY_BEFORE_NAMESPACE();
namespace grainless::tools {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kFourierLanes>;
using V = hn::Vec<D>;

// exp(-(distance / deviation)^2 / 2)
HWY_INLINE V bell(V distance, float deviation) {
  const D d;
  const V share = hn::Mul(distance, hn::Set(d, 1 / deviation));
  return hn::Exp(d, hn::Mul(hn::Set(d, -0.5F), hn::Mul(share, share)));
}

// Of the frequencies (fx, fy[]), in cycles a pixel; frequency 0 gives anything.
void filters_of(float fx, const float* fy, size_t count, float share, float* const* radial,
                float* const* angular) {
  const D d;
  const V x = hn::Set(d, fx), cutoff = hn::Set(d, std::log(kCutoff));
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const V y = hn::Load(d, fy + i);
    const V square = hn::MulAdd(x, x, hn::Mul(y, y));
    const V log_radius = hn::Mul(hn::Set(d, 0.5F), hn::Log(d, square));
    const V steepness = hn::Set(d, 2.0F * kCutoffOrder);
    const V corners = hn::Exp(d, hn::Mul(steepness, hn::Sub(log_radius, cutoff)));
    const V low_pass = hn::Div(hn::Set(d, 1.0F), hn::Add(hn::Set(d, 1.0F), corners));
    for (int32_t s = 0; s < kScales; ++s) {
      const V centre = hn::Set(d, -std::log(kFinestPeriod * static_cast<float>(1 << s)));
      const V distance = hn::Sub(log_radius, centre);
      hn::Store(hn::Mul(bell(distance, kRadialDeviation), low_pass), d, radial[s] + i);
    }
    const V angle = hn::Atan2(d, hn::Neg(y), x);
    for (int32_t o = 0; o < kOrientations; ++o) {
      constexpr float kPi = std::numbers::pi_v<float>;
      const V turn = hn::Sub(angle, hn::Set(d, kPi * static_cast<float>(o) / kOrientations));
      const V once_more = hn::Add(turn, hn::Set(d, 2 * kPi));
      const V distance = hn::IfThenElse(hn::Lt(turn, hn::Set(d, -kPi)), once_more, turn);
      hn::Store(hn::Mul(bell(distance, kAngularDeviation), hn::Set(d, share)), d, angular[o] + i);
    }
  }
}

void squares_of(const float* re, const float* im, size_t count, float* squares) {
  const D d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const V a = hn::LoadU(d, re + i), b = hn::LoadU(d, im + i);
    hn::StoreU(hn::MulAdd(a, a, hn::Mul(b, b)), d, squares + i);
  }
}

// Kovesi's second measure of a pixel's local energy, finer than the length of the sum: each
// scale's part along the sum's direction less its part across it.
void add_energy(const EnergySums& sums) {
  const D d;
  for (size_t i = 0; i < sums.count; i += hn::Lanes(d)) {
    V re = hn::Zero(d), im = re, amplitude = hn::Load(d, sums.amplitude + i);
    for (int32_t s = 0; s < kScales; ++s) {
      const V a = hn::Load(d, sums.re[s] + i), b = hn::Load(d, sums.im[s] + i);
      re = hn::Add(re, a);
      im = hn::Add(im, b);
      amplitude = hn::Add(amplitude, hn::Sqrt(hn::MulAdd(a, a, hn::Mul(b, b))));
    }
    const V length = hn::Sqrt(hn::MulAdd(re, re, hn::Mul(im, im)));
    const V share = hn::Div(hn::Set(d, 1.0F), hn::Add(length, hn::Set(d, kSmallest)));
    const V x = hn::Mul(re, share), y = hn::Mul(im, share);
    V energy = hn::Set(d, -sums.noise);
    for (int32_t s = 0; s < kScales; ++s) {
      const V a = hn::Load(d, sums.re[s] + i), b = hn::Load(d, sums.im[s] + i);
      const V along = hn::MulAdd(a, x, hn::Mul(b, y));
      const V across = hn::Abs(hn::NegMulAdd(a, y, hn::Mul(b, x)));
      energy = hn::Add(energy, hn::Sub(along, across));
    }
    const V more = hn::Max(energy, hn::Zero(d));
    hn::Store(hn::Add(hn::Load(d, sums.energy + i), more), d, sums.energy + i);
    hn::Store(amplitude, d, sums.amplitude + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless::tools
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless::tools {
namespace {

HWY_EXPORT(filters_of);
HWY_EXPORT(squares_of);
HWY_EXPORT(add_energy);

float frequency(int32_t number, int32_t size) {
  return float(2 * number < size ? number : number - size) / float(size);
}

// Of values from 0 on: by the first bits the middle ones are found among all, then they are sorted.
float median_of(std::span<const float> values) {
  constexpr int kBits = 17;
  const auto bin = [](float value) { return std::bit_cast<uint32_t>(value) >> kBits; };
  std::vector<uint32_t> counts(1 << (32 - kBits));
  for (const float value : values) ++counts[bin(value)];
  const size_t first = (values.size() - 1) / 2, second = values.size() / 2;
  size_t low = 0, high = 0, below = 0;
  for (size_t i = 0, sum = 0; sum <= second; sum += counts[i], ++i) {
    if (sum <= first) {
      low = i;
      below = sum;
    }
    high = i;
  }
  std::vector<float> middle;
  for (const float value : values) {
    if (bin(value) >= low && bin(value) <= high) middle.push_back(value);
  }
  std::sort(middle.begin(), middle.end());
  return (middle[first - below] + middle[second - below]) / 2;
}

}  // namespace

FilterBank::FilterBank(int32_t width, int32_t height) {
  const ptrdiff_t stride = ComplexPlane(height, 1).stride;
  const size_t size = size_t(stride) * size_t(width);
  const float share = 1 / (float(width) * float(height));
  hwy::AlignedVector<float> fy(size_t(stride), 0.0F), all(size, 0.0F);
  for (int32_t v = 0; v < height; ++v) fy[size_t(v)] = frequency(v, height);
  for (auto& plane : radial) plane.resize(size);
  for (auto& plane : angular) plane.resize(size);
  for (int32_t u = 0; u < width; ++u) {
    float *scales[kScales], *orientations[kOrientations];
    for (int32_t s = 0; s < kScales; ++s) scales[s] = radial[s].data() + u * stride;
    for (int32_t o = 0; o < kOrientations; ++o) orientations[o] = angular[o].data() + u * stride;
    HWY_DYNAMIC_DISPATCH(filters_of)
    (frequency(u, width), fy.data(), size_t(stride), share, scales, orientations);
  }
  for (auto& plane : radial) {
    plane[0] = 0;
    for (size_t i = 0; i < size; ++i) all[i] += plane[i];
  }
  // The power of noise in the finest scale, and in the sum of the even filters.
  for (int32_t o = 0; o < kOrientations; ++o) {
    double finest = 0, even = 0;
    for (int32_t u = 0; u < width; ++u) {
      const size_t row = size_t(u) * size_t(stride);
      const size_t opposite = size_t((width - u) % width) * size_t(stride);
      for (int32_t v = 0; v < height; ++v) {
        const size_t at = row + size_t(v);
        const float mirrored = angular[o][opposite + size_t(v == 0 ? 0 : height - v)];
        const double a = double(radial[0][at] * angular[o][at]);
        const double b = double(all[at] * (angular[o][at] + mirrored)) / 2;
        finest += a * a;
        even += b * b;
      }
    }
    // The sum of the even filters turns noise into a normal distribution, whose length with the odd
    // one's is Rayleigh's.
    const double mean = std::sqrt(std::numbers::pi / 2);
    const double deviation = std::sqrt(2 - std::numbers::pi / 2);
    noise[o] = std::sqrt(even / finest) * (mean + kNoiseDeviations * deviation) * kNoiseShare;
  }
}

PhaseCongruency::PhaseCongruency(int32_t width, int32_t height)
    : width_(width),
      height_(height),
      transform_(width, height),
      bank_(width, height),
      spectrum_(height, width),
      squares_(size_t(width) * size_t(height) + kFourierLanes) {
  for (auto& response : responses_) response = ComplexPlane(width, height);
  energy_.resize(responses_[0].re.size());
  amplitude_.resize(energy_.size());
}

// Energy that white noise alone hardly exceeds is taken off. Its power is that of the finest scale,
// whose response to the picture is mostly noise: half of a Rayleigh distribution's squares are
// below ln 2 times their mean.
void PhaseCongruency::add_orientation(int32_t number) {
  EnergySums sums{{}, {}, energy_.size(), 0, energy_.data(), amplitude_.data()};
  for (int32_t s = 0; s < kScales; ++s) {
    transform_.backward(spectrum_, bank_.radial[s].data(), bank_.angular[number].data(),
                        responses_[s]);
    sums.re[s] = responses_[s].re.data();
    sums.im[s] = responses_[s].im.data();
  }
  const ComplexPlane& finest = responses_[0];
  const auto width = size_t(width_), height = size_t(height_);
  for (size_t y = 0; y < height; ++y) {
    const size_t row = y * size_t(finest.stride);
    HWY_DYNAMIC_DISPATCH(squares_of)
    (finest.re.data() + row, finest.im.data() + row, width, squares_.data() + y * width);
  }
  const double median = double(median_of({squares_.data(), width * height}));
  sums.noise = float(std::sqrt(median / std::numbers::ln2) * bank_.noise[number]);
  HWY_DYNAMIC_DISPATCH(add_energy)(sums);
}

// Equation 4: local energy over the sum of amplitudes.
std::vector<float> PhaseCongruency::of(const std::vector<double>& luma) {
  const double mean = std::accumulate(luma.begin(), luma.end(), 0.0) / double(luma.size());
  std::vector<float> congruency(luma.size(), std::numeric_limits<float>::quiet_NaN());
  if (!std::isfinite(mean)) return congruency;
  // The filters take nothing of the mean, whose size would only cost precision.
  ComplexPlane& picture = responses_[0];
  std::fill(picture.im.begin(), picture.im.end(), 0.0F);
  for (int32_t y = 0; y < height_; ++y) {
    const double* from = luma.data() + size_t(y) * size_t(width_);
    std::transform(from, from + width_, picture.re.data() + y * picture.stride,
                   [mean](double value) { return float(value - mean); });
  }
  transform_.forward(picture, spectrum_);
  std::fill(energy_.begin(), energy_.end(), 0.0F);
  std::fill(amplitude_.begin(), amplitude_.end(), kSmallest);
  for (int32_t o = 0; o < kOrientations; ++o) add_orientation(o);
  for (int32_t y = 0; y < height_; ++y) {
    for (int32_t x = 0; x < width_; ++x) {
      const auto at = size_t(y * picture.stride + x);
      congruency[size_t(y) * size_t(width_) + size_t(x)] = energy_[at] / amplitude_[at];
    }
  }
  return congruency;
}

}  // namespace grainless::tools
#endif  // HWY_ONCE
