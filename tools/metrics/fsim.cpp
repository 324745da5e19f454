// SPDX-License-Identifier: MIT
#include "fsim.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "congruency.h"
#include "engine/boundary/pixel_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/metrics/fsim.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "hwy/contrib/math/math-inl.h"

#ifndef GRAINLESS_FSIM_CONSTANTS
#define GRAINLESS_FSIM_CONSTANTS
namespace grainless::tools {

// Planes of one size, row-major.
struct FsimFeatures {
  int32_t width, height;
  std::vector<float> congruency, gradient;
  std::vector<float> chroma[2];  // I and Q, of colour pictures
};

inline constexpr float kT1 = 0.85F, kT2 = 160, kT3 = 200, kT4 = 200;  // of PC, gradient, I and Q
inline constexpr float kLambda = 0.03F;       // exponent of the chrominances
inline constexpr float kLeastWeight = 1e-9F;  // so that pictures without any feature have a value

// Features of some pixels of both pictures; chroma null: grey.
struct FsimPixels {
  const float* congruency[2];
  const float* gradient[2];
  const float *i[2], *q[2];
  size_t count;
};

struct FsimSums {
  double alike, weights;
};

}  // namespace grainless::tools
#endif

HWY_BEFORE_NAMESPACE();
namespace grainless::tools {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Nothing is fused: it has to be symmetric.
HWY_INLINE V similarity(V a, V b, float constant) {
  const V c = hn::Set(D(), constant), product = hn::Mul(a, b);
  const V squares = hn::Add(hn::Mul(a, a), hn::Mul(b, b));
  return hn::Div(hn::Add(hn::Add(product, product), c), hn::Add(squares, c));
}

// Opposite chrominances have a negative similarity, whose power is complex: its real part.
HWY_INLINE V power_of(V similarity) {
  const D d;
  const V exponent = hn::Mul(hn::Set(d, kLambda), hn::Log(d, hn::Abs(similarity)));
  const V size = hn::IfThenZeroElse(hn::Eq(similarity, hn::Zero(d)), hn::Exp(d, exponent));
  const V turn = hn::Set(d, std::cos(std::numbers::pi_v<float> * kLambda));
  return hn::IfThenElse(hn::Lt(similarity, hn::Zero(d)), hn::Mul(size, turn), size);
}

FsimSums sums_of(const FsimPixels& pixels) {
  const D d;
  V sum = hn::Zero(d), sum_weights = sum;
  for (size_t at = 0; at < pixels.count; at += hn::Lanes(d)) {
    const size_t left = pixels.count - at;
    const auto load = [&](const float* const(&from)[2], int k)
                          HWY_ATTR { return hn::LoadN(d, from[k] + at, left); };
    const V from = load(pixels.congruency, 0), to = load(pixels.congruency, 1);
    // Max takes one of two that are not numbers: their sum finds them.
    const V most = hn::Max(hn::Max(from, to), hn::Set(d, kLeastWeight));
    const V weight = hn::IfThenElseZero(hn::FirstN(d, left), most);
    V alike = hn::Mul(similarity(from, to, kT1),
                      similarity(load(pixels.gradient, 0), load(pixels.gradient, 1), kT2));
    if (pixels.i[0] != nullptr) {
      const V chroma = hn::Mul(similarity(load(pixels.i, 0), load(pixels.i, 1), kT3),
                               similarity(load(pixels.q, 0), load(pixels.q, 1), kT4));
      alike = hn::Mul(alike, power_of(chroma));
    }
    sum = hn::Add(sum, hn::Mul(alike, weight));
    sum_weights = hn::Add(sum_weights, weight);
  }
  return {static_cast<double>(hn::ReduceSum(d, sum)),
          static_cast<double>(hn::ReduceSum(d, sum_weights))};
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless::tools
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless::tools {

struct FsimReference {
  PhaseCongruency congruency;
  FsimFeatures features;
};

namespace {

HWY_EXPORT(sums_of);

constexpr int32_t kSide = 256;

struct Reduced {
  int32_t width, height;
  std::vector<float> luma, chroma[2];
};

// Sums over a row of blocks of factor x factor pixels, of each colour.
using ColourSums = std::vector<float>[3];

// Adds the samples of blocks of one row of pixels.
template <Component kComponent, int32_t kColours>
void add_samples(const ConstImage& image, int32_t y, int32_t factor, ColourSums& sums) {
  const auto* pixel = static_cast<const uint8_t*>(pixel_at(image, 0, y));
  const ptrdiff_t step = image.format.pixel_bytes();
  const size_t count = sums[0].size();
  float* to[kColours];
  for (int32_t c = 0; c < kColours; ++c) to[c] = sums[c].data();
  for (size_t x = 0; x < count; ++x) {
    for (int32_t i = 0; i < factor; ++i, pixel += step) {
      for (int32_t c = 0; c < kColours; ++c) to[c][x] += load_component(pixel, kComponent, c);
    }
  }
}

template <Component kComponent>
void add_row(const ConstImage& image, int32_t y, int32_t factor, ColourSums& sums) {
  if (image.format.colours() == 1) return add_samples<kComponent, 1>(image, y, factor, sums);
  add_samples<kComponent, 3>(image, y, factor, sums);
}

void add_row(const ConstImage& image, int32_t y, int32_t factor, ColourSums& sums) {
  switch (image.format.component) {
    case Component::kU8:
      return add_row<Component::kU8>(image, y, factor, sums);
    case Component::kU16:
      return add_row<Component::kU16>(image, y, factor, sums);
    case Component::kHalf:
      return add_row<Component::kHalf>(image, y, factor, sums);
    case Component::kFloat:
      return add_row<Component::kFloat>(image, y, factor, sums);
  }
}

// Y and, in colour, I and Q of a row of means.
void set_row(const ColourSums& sums, float share, size_t at, Reduced& reduced) {
  const size_t count = sums[0].size();
  float* luma = reduced.luma.data() + at;
  if (reduced.chroma[0].empty()) {
    std::transform(sums[0].begin(), sums[0].end(), luma, [=](float v) { return share * v; });
    return;
  }
  float *i = reduced.chroma[0].data() + at, *q = reduced.chroma[1].data() + at;
  for (size_t x = 0; x < count; ++x) {
    const float r = share * sums[0][x], g = share * sums[1][x], b = share * sums[2][x];
    luma[x] = 0.299F * r + 0.587F * g + 0.114F * b;
    i[x] = 0.596F * r - 0.274F * g - 0.322F * b;
    q[x] = 0.211F * r - 0.523F * g + 0.312F * b;
  }
}

// Means of factor x factor pixels, of Y and, in colour, I and Q on the 8-bit scale.
Reduced reduce(const ConstImage& image) {
  const int32_t shorter = std::min(image.width, image.height);
  const int32_t factor = std::max(1, int32_t(std::lround(double(shorter) / kSide)));
  Reduced reduced{image.width / factor, image.height / factor, {}, {}};
  const auto width = size_t(reduced.width), count = width * size_t(reduced.height);
  const bool colour = image.format.colours() == 3;
  reduced.luma.resize(count);
  for (auto& plane : reduced.chroma) plane.resize(colour ? count : 0);
  const auto share = float(1.0 / (double(factor) * factor));
  ColourSums sums;
  for (int32_t y = 0; y < reduced.height; ++y) {
    for (auto& row : sums) row.assign(width, 0.0F);
    for (int32_t i = 0; i < factor; ++i) add_row(image, y * factor + i, factor, sums);
    set_row(sums, share, size_t(y) * width, reduced);
  }
  return reduced;
}

// Scharr's gradient magnitude; outside is 0, as in the authors' program.
std::vector<float> gradient_of(const Reduced& image) {
  const auto width = size_t(image.width), height = size_t(image.height), row = width + 2;
  std::vector<float> padded(row * (height + 2)), gradient(width * height);
  for (size_t y = 0; y < height; ++y) {
    std::copy_n(image.luma.data() + y * width, width, padded.data() + (y + 1) * row + 1);
  }
  for (size_t y = 0; y < height; ++y) {
    const float *above = padded.data() + y * row + 1, *at = above + row, *below = at + row;
    float* to = gradient.data() + y * width;
    for (size_t x = 0; x < width; ++x) {
      const float* a = above + x;
      const float *b = at + x, *c = below + x;
      const float gx = 3 * (a[1] - a[-1]) + 10 * (b[1] - b[-1]) + 3 * (c[1] - c[-1]);
      const float gy = 3 * (c[-1] - a[-1]) + 10 * (c[0] - a[0]) + 3 * (c[1] - a[1]);
      to[x] = std::sqrt(gx * gx + gy * gy) / 16;
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

// Of one row, so that single floats hold the sums.
FsimSums row_sums(const FsimFeatures& a, const FsimFeatures& b, int32_t y) {
  const size_t at = size_t(y) * size_t(a.width);
  FsimPixels pixels{{a.congruency.data() + at, b.congruency.data() + at},
                    {a.gradient.data() + at, b.gradient.data() + at},
                    {},
                    {},
                    size_t(a.width)};
  if (!a.chroma[0].empty()) {
    for (int k = 0; k < 2; ++k) {
      const FsimFeatures& of = k == 0 ? a : b;
      pixels.i[k] = of.chroma[0].data() + at;
      pixels.q[k] = of.chroma[1].data() + at;
    }
  }
  return HWY_DYNAMIC_DISPATCH(sums_of)(pixels);
}

}  // namespace

Fsim::Fsim(const ConstImage& reference) : reference_(reference_of(reference)) {}
Fsim::~Fsim() = default;

std::optional<double> Fsim::of(const ConstImage& image) {
  const FsimFeatures& a = reference_->features;
  const FsimFeatures b = features_of(reduce(image), reference_->congruency);
  double sum = 0, weights = 0;
  for (int32_t y = 0; y < a.height; ++y) {
    const FsimSums row = row_sums(a, b, y);
    sum += row.alike;
    weights += row.weights;
  }
  const double mean = sum / weights;
  if (!std::isfinite(mean)) return std::nullopt;
  return mean;
}

}  // namespace grainless::tools
#endif  // HWY_ONCE
