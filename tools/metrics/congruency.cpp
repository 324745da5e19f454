// SPDX-License-Identifier: MIT
#include "congruency.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

// Arrays of vectors: fourier.cpp says why.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_ALL_SVE
#endif
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

// Where the filters of one row of frequencies (fx, fy[]) go, a part each of a block's columns, and
// those of (-fx, fy[]).
struct FilterRow {
  float fx, share;  // fx: 0..1/2, where 1/2 stands for -1/2 alone
  const float* fy;  // kFourierLanes of them
  float *radial[kScales], *angular[kOrientations];
  ptrdiff_t opposite;  // floats from there to the other row
  // Powers of white noise in both: of the finest scale, and of the sum of the even filters.
  float finest[kOrientations], even[kOrientations];
};

// A block of columns of responses to one orientation's filters, and what becomes of them.
struct EnergyBlock {
  const float* responses[kScales];
  int32_t rows, columns;
  float *raised, *amplitude;
  uint32_t* squares;  // [row][column], without padding
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

// Bells whose centres are `step` apart have ratios whose own ratio is the same everywhere:
// bell(x - k step) = bell(x) ratio(x)^k bell(k step), so that two exponentials do for all.
HWY_INLINE V ratio(V distance, float step, float deviation) {
  const D d;
  return hn::Exp(d, hn::Mul(distance, hn::Set(d, step / (deviation * deviation))));
}

HWY_INLINE V share_of(int32_t k, float step, float deviation) {
  const float share = static_cast<float>(k) * step / deviation;
  return hn::Set(D(), std::exp(-0.5F * share * share));
}

constexpr int32_t kDirections = 2 * kOrientations;

// Around each direction, for angles of -pi/2..pi/2, by the shorter way round.
HWY_INLINE void around_directions(V angle, V (&bells)[kDirections]) {
  const D d;
  constexpr float kStep = std::numbers::pi_v<float> / kOrientations;
  const V middle = bell(angle, kAngularDeviation);
  const V left = ratio(angle, kStep, kAngularDeviation), right = hn::Div(hn::Set(d, 1.0F), left);
  const V left2 = hn::Mul(left, left), right2 = hn::Mul(right, right);
  const V left3 = hn::Mul(left2, left), right3 = hn::Mul(right2, right);
  const V left4 = hn::Mul(left2, left2), right4 = hn::Mul(right2, right2);
  const auto at = [&](int32_t k, V power) HWY_ATTR {
    return hn::Mul(hn::Mul(middle, power), share_of(k, kStep, kAngularDeviation));
  };
  static_assert(kDirections == 8);
  bells[0] = middle;
  bells[1] = at(1, left);
  bells[2] = at(2, left2);
  bells[3] = hn::Max(at(3, left3), at(5, hn::Mul(right4, right)));
  bells[4] = hn::Max(at(4, left4), at(4, right4));
  bells[5] = hn::Max(at(3, right3), at(5, hn::Mul(left4, left)));
  bells[6] = at(2, right2);
  bells[7] = at(1, right);
}

// To the power of kCutoffOrder, 15.
HWY_INLINE V power_of_order(V v) {
  static_assert(kCutoffOrder == 15);
  const V third = hn::Mul(hn::Mul(v, v), v), sixth = hn::Mul(third, third);
  return hn::Mul(hn::Mul(sixth, sixth), third);
}

// Of all scales; 0 for frequency 0, and for what pads (a frequency of 1).
HWY_INLINE void radial_filters(V x, V y, V (&filters)[kScales]) {
  const D d;
  const V square = hn::MulAdd(x, x, hn::Mul(y, y));
  const auto none = hn::Or(hn::Eq(square, hn::Zero(d)), hn::Eq(y, hn::Set(d, 1.0F)));
  const V corners = power_of_order(hn::Mul(square, hn::Set(d, 1 / (kCutoff * kCutoff))));
  const V low_pass = hn::Div(hn::Set(d, 1.0F), hn::Add(hn::Set(d, 1.0F), corners));
  const V some = hn::IfThenElse(none, hn::Set(d, 1.0F), square);
  constexpr float kOctave = std::numbers::ln2_v<float>;
  const V octaves =
      hn::MulAdd(hn::Set(d, 0.5F), hn::Log(d, some), hn::Set(d, std::log(kFinestPeriod)));
  const V coarser = ratio(hn::Neg(octaves), kOctave, kRadialDeviation);
  V power = hn::IfThenZeroElse(none, hn::Mul(bell(octaves, kRadialDeviation), low_pass));
  for (int32_t s = 0; s < kScales; ++s) {
    filters[s] = hn::Mul(power, share_of(s, kOctave, kRadialDeviation));
    power = hn::Mul(power, coarser);
  }
}

// Adds the powers of a column's parts of all orientations.
struct NoisePowers {
  V finest[kOrientations], even[kOrientations];

  HWY_INLINE NoisePowers() {
    for (int32_t o = 0; o < kOrientations; ++o) finest[o] = even[o] = hn::Zero(D());
  }
  // behind: the angular filter of the opposite frequency.
  HWY_INLINE void add(int32_t o, V first, V all, V angular, V behind) {
    const V a = hn::Mul(first, angular), b = hn::Mul(all, hn::Add(angular, behind));
    finest[o] = hn::MulAdd(a, a, finest[o]);
    even[o] = hn::MulAdd(b, b, even[o]);
  }
};

// Frequencies in cycles a pixel. To the other side of an axis a direction k becomes 4 - k or -k,
// and the opposite one 4 + k; of frequencies of 1/2, which are as well -1/2, only the other
// coordinate changes its sign.
void filters_of(FilterRow& row) {
  const D d;
  const V x = hn::Set(d, row.fx), share = hn::Set(d, row.share);
  const bool edge = row.fx == 0.5F;
  NoisePowers powers;
  for (ptrdiff_t i = 0; i < kFourierLanes; i += static_cast<ptrdiff_t>(hn::Lanes(d))) {
    const V y = hn::LoadU(d, row.fy + i);
    V radial[kScales], bells[kDirections];
    radial_filters(x, y, radial);
    around_directions(hn::Atan2(d, hn::Neg(y), x), bells);
    V all = hn::Zero(d);
    for (int32_t s = 0; s < kScales; ++s) {
      hn::Store(radial[s], d, row.radial[s] + i);
      hn::Store(radial[s], d, row.radial[s] + row.opposite + i);
      all = hn::Add(all, radial[s]);
    }
    const auto edge_y = hn::Eq(y, hn::Set(d, -0.5F));
    for (int32_t o = 0; o < kOrientations; ++o) {
      const V here = bells[o], turned = bells[4 - o];
      const V behind = bells[o + 4], below = bells[(8 - o) % 8];
      if (!edge) {
        hn::Store(hn::Mul(here, share), d, row.angular[o] + i);
        powers.add(o, radial[0], all, here, hn::IfThenElse(edge_y, turned, behind));
      }
      if (row.fx > 0) {
        hn::Store(hn::Mul(turned, share), d, row.angular[o] + row.opposite + i);
        const V sideways = edge ? turned : here;
        powers.add(o, radial[0], all, turned,
                   hn::IfThenElse(edge_y, sideways, edge ? behind : below));
      }
    }
  }
  for (int32_t o = 0; o < kOrientations; ++o) {
    row.finest[o] = hn::ReduceSum(d, powers.finest[o]);
    row.even[o] = hn::ReduceSum(d, powers.even[o]) / 4;
  }
}

// Kovesi's second measure of a pixel's local energy, finer than the length of the sum: each
// scale's part along the sum's direction less its part across it. Which part of a response is the
// even one doesn't matter.
void add_energy(const EnergyBlock& block) {
  const D d;
  const auto n = static_cast<ptrdiff_t>(hn::Lanes(d));
  uint32_t* squares = block.squares;
  for (ptrdiff_t y = 0; y < block.rows; ++y) {
    for (ptrdiff_t i = 0; i < kFourierLanes; i += n) {
      const ptrdiff_t at = y * kFourierLanes + i, from = 2 * y * kFourierLanes + i;
      V re = hn::Zero(d), im = re, amplitude = hn::Load(d, block.amplitude + at);
      for (int32_t s = 0; s < kScales; ++s) {
        const V a = hn::Load(d, block.responses[s] + from);
        const V b = hn::Load(d, block.responses[s] + from + kFourierLanes);
        re = hn::Add(re, a);
        im = hn::Add(im, b);
        const V square = hn::MulAdd(a, a, hn::Mul(b, b));
        amplitude = hn::Add(amplitude, hn::Sqrt(square));
        if (s == 0 && i < block.columns) {
          const ptrdiff_t count = std::min(n, block.columns - i);
          const hn::RebindToUnsigned<D> bits;
          hn::StoreN(hn::BitCast(bits, square), bits, squares, static_cast<size_t>(count));
          squares += count;
        }
      }
      const V length = hn::Sqrt(hn::MulAdd(re, re, hn::Mul(im, im)));
      const V share = hn::Div(hn::Set(d, 1.0F), hn::Add(length, hn::Set(d, kSmallest)));
      const V cosine = hn::Mul(re, share), sine = hn::Mul(im, share);
      V energy = hn::Zero(d);
      for (int32_t s = 0; s < kScales; ++s) {
        const V a = hn::Load(d, block.responses[s] + from);
        const V b = hn::Load(d, block.responses[s] + from + kFourierLanes);
        const V along = hn::MulAdd(a, cosine, hn::Mul(b, sine));
        const V across = hn::Abs(hn::NegMulAdd(a, sine, hn::Mul(b, cosine)));
        energy = hn::Add(energy, hn::Sub(along, across));
      }
      hn::Store(energy, d, block.raised + at);
      hn::Store(amplitude, d, block.amplitude + at);
    }
  }
}

void add_beyond(const float* raised, float noise, size_t count, float* energy) {
  const D d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const V more = hn::Sub(hn::Load(d, raised + i), hn::Set(d, noise));
    hn::Store(hn::Add(hn::Load(d, energy + i), hn::Max(more, hn::Zero(d))), d, energy + i);
  }
}

// Copies those of the values that lie in low..high, with room for a vector more. Returns how many
// are below.
size_t select_between(std::span<const uint32_t> values, uint32_t low, uint32_t high,
                      std::vector<uint32_t>& between) {
  const hn::RebindToUnsigned<D> d;
  const size_t n = hn::Lanes(d);
  between.resize(values.size() + n);
  size_t below = 0, kept = 0, i = 0;
  for (; i + n <= values.size(); i += n) {
    const auto v = hn::LoadU(d, values.data() + i);
    const auto under = hn::Lt(v, hn::Set(d, low));
    const auto keep = hn::AndNot(under, hn::Le(v, hn::Set(d, high)));
    below += hn::CountTrue(d, under);
    hn::StoreU(hn::Compress(v, keep), d, between.data() + kept);
    kept += hn::CountTrue(d, keep);
  }
  for (; i < values.size(); ++i) {
    if (values[i] < low) ++below;
    if (values[i] >= low && values[i] <= high) between[kept++] = values[i];
  }
  between.resize(kept);
  return below;
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless::tools
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless::tools {
namespace {

HWY_EXPORT(filters_of);
HWY_EXPORT(add_energy);
HWY_EXPORT(add_beyond);
HWY_EXPORT(select_between);

float frequency(int32_t number, int32_t size) {
  return float(2 * number < size ? number : number - size) / float(size);
}

// The element of this rank, from 0 on, and the next one of values in any order. Counts by the upper
// bits (quarters of octaves, of floats) say between which two both are: others are left out.
std::pair<uint32_t, uint32_t> elements(std::span<const uint32_t> values, size_t rank) {
  constexpr size_t kFew = 512;
  constexpr int kShift = 21;
  std::vector<uint32_t> rest;
  if (values.size() <= kFew) {
    rest.assign(values.begin(), values.end());
  } else {
    // Two tables, as neighbours are often equal, and a counter waits for itself.
    std::array<uint32_t, size_t{1} << (32 - kShift)> counts{}, more{};
    size_t i = 0;
    for (; i + 2 <= values.size(); i += 2) {
      ++counts[values[i] >> kShift];
      ++more[values[i + 1] >> kShift];
    }
    if (i < values.size()) ++counts[values[i] >> kShift];
    size_t sum = 0;
    uint32_t low = 0;
    while (sum + counts[low] + more[low] <= rank) {
      sum += counts[low] + more[low];
      ++low;
    }
    uint32_t high = low;
    for (size_t next = sum; high + 1 < counts.size(); ++high) {
      next += counts[high] + more[high];
      if (next > rank + 1) break;
    }
    const uint32_t last = (high << kShift) + ((uint32_t{1} << kShift) - 1);
    rank -= HWY_DYNAMIC_DISPATCH(select_between)(values, low << kShift, last, rest);
  }
  const auto at = rest.begin() + ptrdiff_t(rank);
  std::nth_element(rest.begin(), at, rest.end());
  return {*at, at + 1 == rest.end() ? *at : *std::min_element(at + 1, rest.end())};
}

// Of floats from 0 on, given as bits, which have the same order.
float median_of(std::span<const uint32_t> values) {
  const auto [lower, upper] = elements(values, (values.size() - 1) / 2);
  const float first = std::bit_cast<float>(lower);
  return values.size() % 2 == 1 ? first : (first + std::bit_cast<float>(upper)) / 2;
}

double mean_of(std::span<const float> values) {
  double sums[8] = {};
  size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    for (size_t k = 0; k < 8; ++k) sums[k] += double(values[i + k]);
  }
  for (; i < values.size(); ++i) sums[0] += double(values[i]);
  return std::accumulate(sums, sums + 8, 0.0) / double(values.size());
}

RealPlane real_plane(int32_t width, int32_t height, PlaneMemory& memory) {
  return {width, height, memory.take(RealPlane::floats(width, height))};
}

// Of a plane that serves forward transforms, too.
size_t middle_floats(int32_t width, int32_t height) {
  return std::max(ComplexPlane::floats(width, height), ComplexPlane::floats(height, width));
}

// All planes of a PhaseCongruency.
size_t floats_of(int32_t width, int32_t height) {
  const size_t block = 2 * kFourierLanes * size_t(height);
  return (kScales + kOrientations) * RealPlane::floats(height, width) +
         ComplexPlane::floats(height, width) + 4 * RealPlane::floats(width, height) +
         kScales * (middle_floats(width, height) + block);
}

}  // namespace

FilterBank::FilterBank(int32_t width, int32_t height, PlaneMemory& memory) {
  for (auto& plane : radial) plane = real_plane(height, width, memory);
  for (auto& plane : angular) plane = real_plane(height, width, memory);
  FilterRow row{};
  row.share = 1 / (float(width) * float(height));
  double finest[kOrientations] = {}, even[kOrientations] = {};
  for (int32_t block = 0; block < fourier_blocks(height); ++block) {
    float fy[kFourierLanes];
    for (int32_t i = 0; i < kFourierLanes; ++i) {
      const int32_t v = block * kFourierLanes + i;
      fy[i] = v < height ? frequency(v, height) : 1;
    }
    row.fy = fy;
    for (int32_t u = 0; 2 * u <= width; ++u) {
      row.fx = float(u) / float(width);
      row.opposite = u == 0 ? 0 : ptrdiff_t{width - 2 * u} * kFourierLanes;
      const auto of = [&](RealPlane& plane) {
        return plane.block(block) + ptrdiff_t{u} * kFourierLanes;
      };
      std::transform(radial, radial + kScales, row.radial, of);
      std::transform(angular, angular + kOrientations, row.angular, of);
      HWY_DYNAMIC_DISPATCH(filters_of)(row);
      for (int32_t o = 0; o < kOrientations; ++o) {
        finest[o] += double(row.finest[o]);
        even[o] += double(row.even[o]);
      }
    }
  }
  for (int32_t o = 0; o < kOrientations; ++o) {
    // The sum of the even filters turns noise into a normal distribution, whose length with the odd
    // one's is Rayleigh's.
    const double mean = std::sqrt(std::numbers::pi / 2);
    const double deviation = std::sqrt(2 - std::numbers::pi / 2);
    noise[o] = std::sqrt(even[o] / finest[o]) * (mean + kNoiseDeviations * deviation) * kNoiseShare;
  }
}

PhaseCongruency::PhaseCongruency(int32_t width, int32_t height)
    : width_(width),
      height_(height),
      transform_(width, height),
      memory_(floats_of(width, height)),
      bank_(width, height, memory_),
      spectrum_{height, width, memory_.take(ComplexPlane::floats(height, width))},
      energy_(real_plane(width, height, memory_)),
      raised_(real_plane(width, height, memory_)),
      amplitude_(real_plane(width, height, memory_)),
      squares_(std::bit_cast<uint32_t*>(memory_.take(energy_.floats()))) {
  for (auto& middle : middle_) {
    middle = {width, height, memory_.take(middle_floats(width, height))};
  }
  for (auto& response : responses_) response = memory_.take(size_t(middle_[0].block_floats()));
}

// Energy that white noise alone hardly exceeds is taken off. Its power is that of the finest scale,
// whose response to the picture is mostly noise: half of a Rayleigh distribution's squares are
// below ln 2 times their mean.
void PhaseCongruency::add_orientation(int32_t number) {
  for (int32_t i = 0; i < fourier_blocks(height_); ++i) {
    for (int32_t s = 0; s < kScales; ++s) {
      transform_.backward_along_x(spectrum_, bank_.radial[s], bank_.angular[number], i, middle_[s]);
    }
  }
  uint32_t* squares = squares_;
  for (int32_t i = 0; i < fourier_blocks(width_); ++i) {
    const int32_t columns = std::min(kFourierLanes, width_ - i * kFourierLanes);
    EnergyBlock block{{}, height_, columns, raised_.block(i), amplitude_.block(i), squares};
    for (int32_t s = 0; s < kScales; ++s) {
      transform_.backward_along_y(middle_[s], i, responses_[s]);
      block.responses[s] = responses_[s];
    }
    HWY_DYNAMIC_DISPATCH(add_energy)(block);
    squares += size_t(columns) * size_t(height_);
  }
  const size_t count = size_t(width_) * size_t(height_);
  const double median = double(median_of({squares_, count}));
  const auto noise = float(std::sqrt(median / std::numbers::ln2) * bank_.noise[number]);
  HWY_DYNAMIC_DISPATCH(add_beyond)
  (raised_.samples, noise, raised_.floats(), energy_.samples);
}

// Equation 4: local energy over the sum of amplitudes.
std::vector<float> PhaseCongruency::quotients() const {
  std::vector<float> congruency(size_t(width_) * size_t(height_));
  for (int32_t i = 0; i < fourier_blocks(width_); ++i) {
    const int32_t x = i * kFourierLanes, columns = std::min(kFourierLanes, width_ - x);
    for (int32_t y = 0; y < height_; ++y) {
      const float* energy = energy_.block(i) + y * kFourierLanes;
      const float* amplitude = amplitude_.block(i) + y * kFourierLanes;
      std::transform(energy, energy + columns, amplitude,
                     congruency.data() + size_t(y) * size_t(width_) + size_t(x),
                     std::divides<float>());
    }
  }
  return congruency;
}

std::vector<float> PhaseCongruency::of(const std::vector<float>& luma) {
  const double mean = mean_of(luma);
  if (!std::isfinite(mean)) {
    return std::vector<float>(luma.size(), std::numeric_limits<float>::quiet_NaN());
  }
  // The filters take nothing of the mean, whose size would only cost precision.
  const ComplexPlane middle{height_, width_, middle_[0].samples};
  transform_.forward(luma.data(), float(mean), middle, spectrum_);
  std::fill_n(energy_.samples, energy_.floats(), 0.0F);
  std::fill_n(amplitude_.samples, amplitude_.floats(), kSmallest);
  for (int32_t o = 0; o < kOrientations; ++o) add_orientation(o);
  return quotients();
}

}  // namespace grainless::tools
#endif  // HWY_ONCE
