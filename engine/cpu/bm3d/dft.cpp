// SPDX-License-Identifier: MIT
// Two real patches are transformed as one complex patch: with z = a + i b and Z its DFT,
//   A(k) = (Z(k) + conj Z(-k)) / 2,  B(k) = (Z(k) - conj Z(-k)) / 2i.
// So every patch size takes the same way, odd ones too.
//
// Along a group of N, patches i and N - i belong together, and so do frequencies m and N - m: with
// e_i = x_i + x_(N-i) and o_i = x_i - x_(N-i), X_m = P - i Q and X_(N-m) = P + i Q, P being the sum
// of e_i cos(2 pi m i / N) and Q that of o_i sin(2 pi m i / N). The way back sums likewise.
#include "dft.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/bm3d/dft.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef GRAINLESS_BM3D_DFT_TABLE
#define GRAINLESS_BM3D_DFT_TABLE
namespace grainless {

// cos and sin of 2 pi k / kMaxGroup.
struct Circle {
  Circle() {
    for (int32_t k = 0; k < kMaxGroup; ++k) {
      cosine[k] = static_cast<float>(std::cos(2 * std::numbers::pi * k / kMaxGroup));
      sine[k] = static_cast<float>(std::sin(2 * std::numbers::pi * k / kMaxGroup));
    }
  }
  std::array<float, kMaxGroup> cosine, sine;
};

inline const Circle& circle() {
  static const Circle table;
  return table;
}

}  // namespace grainless
#endif

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DLane = hn::CappedTag<float, 16>;
using Lanes = hn::Vec<DLane>;

// A vector of coefficients of all patches on the way along the group.
class GroupDft {
 public:
  GroupDft(const DftGroup& group, int32_t at)
      : group_(group), at_(at), half_(group.count / 2), circle_(circle()) {}

  // Returns how many coefficients remain, for each lane.
  HWY_INLINE Lanes run() {
    fold();
    auto retained = hn::Zero(d_);
    for (int32_t m = 0; m <= half_; ++m) retained = hn::Add(retained, frequency(m));
    unfold();
    return retained;
  }

 private:
  static constexpr int32_t kHalf = kMaxGroup / 2 + 1, kWide = 16;
  struct Sums {
    alignas(64) float real[kHalf * kWide], imaginary[kHalf * kWide];
  };

  float* real(int32_t patch) const { return group_.spectra + 2 * patch * group_.size + at_; }
  float* imaginary(int32_t patch) const { return real(patch) + group_.size; }
  bool mirrored(int32_t i) const { return i > 0 && 2 * i < group_.count; }
  int32_t angle(int32_t m, int32_t i) const {
    return m * i * (kMaxGroup / group_.count) & (kMaxGroup - 1);
  }
  HWY_INLINE Lanes load(const float* from) const { return hn::Load(d_, from); }
  HWY_INLINE void add(Lanes value, float* to) const {
    hn::Store(hn::Add(hn::Load(d_, to), value), d_, to);
  }
  HWY_INLINE Lanes scaled(float k, Lanes v) const { return hn::Mul(hn::Set(d_, k), v); }

  HWY_INLINE void fold() {
    const auto zero = hn::Zero(d_);
    for (int32_t i = 0; i <= half_; ++i) {
      const int32_t at = i * kWide;
      auto re = load(real(i)), im = load(imaginary(i)), odd_re = zero, odd_im = zero;
      if (mirrored(i)) {
        const auto other_re = load(real(group_.count - i)),
                   other_im = load(imaginary(group_.count - i));
        odd_re = hn::Sub(re, other_re);
        odd_im = hn::Sub(im, other_im);
        re = hn::Add(re, other_re);
        im = hn::Add(im, other_im);
      }
      hn::Store(re, d_, even_.real + at);
      hn::Store(im, d_, even_.imaginary + at);
      hn::Store(odd_re, d_, odd_.real + at);
      hn::Store(odd_im, d_, odd_.imaginary + at);
      for (float* out : {even_out_.real, even_out_.imaginary, odd_out_.real, odd_out_.imaginary}) {
        hn::Store(zero, d_, out + at);
      }
    }
  }

  // Zero unless removed; counts the others in retained.
  HWY_INLINE void threshold(Lanes& re, Lanes& im, Lanes& retained) const {
    const auto energy = hn::Add(hn::Mul(re, re), hn::Mul(im, im));
    const auto removed = hn::Le(energy, hn::Set(d_, group_.bound));
    re = hn::IfThenElseZero(removed, re);
    im = hn::IfThenElseZero(removed, im);
    retained = hn::Add(retained, hn::IfThenZeroElse(removed, load(group_.multiplicity + at_)));
  }

  // The coefficients m and count - m: to them, through the threshold, and back.
  HWY_INLINE Lanes frequency(int32_t m) {
    auto p_re = hn::Zero(d_), p_im = hn::Zero(d_), q_re = hn::Zero(d_), q_im = hn::Zero(d_);
    for (int32_t i = 0; i <= half_; ++i) {
      const int32_t at = i * kWide;
      const float cosine = circle_.cosine[angle(m, i)], sine = circle_.sine[angle(m, i)];
      p_re = hn::Add(p_re, scaled(cosine, load(even_.real + at)));
      p_im = hn::Add(p_im, scaled(cosine, load(even_.imaginary + at)));
      if (!mirrored(i)) continue;
      q_re = hn::Add(q_re, scaled(sine, load(odd_.real + at)));
      q_im = hn::Add(q_im, scaled(sine, load(odd_.imaginary + at)));
    }
    auto retained = hn::Zero(d_);
    if (!mirrored(m)) {
      // The group's mean is kept: nothing of it is removed.
      if (m == 0 && at_ == 0) p_re = hn::IfThenZeroElse(hn::FirstN(d_, 1), p_re);
      threshold(p_re, p_im, retained);
      q_re = q_im = hn::Zero(d_);
    } else {
      auto a_re = hn::Add(p_re, q_im), a_im = hn::Sub(p_im, q_re);
      auto b_re = hn::Sub(p_re, q_im), b_im = hn::Add(p_im, q_re);
      threshold(a_re, a_im, retained);
      threshold(b_re, b_im, retained);
      p_re = hn::Add(a_re, b_re);
      p_im = hn::Add(a_im, b_im);
      q_re = hn::Sub(b_im, a_im);  // i (A - B)
      q_im = hn::Sub(a_re, b_re);
    }
    give_back(m, p_re, p_im, q_re, q_im);
    return retained;
  }

  HWY_INLINE void give_back(int32_t m, Lanes p_re, Lanes p_im, Lanes q_re, Lanes q_im) {
    for (int32_t i = 0; i <= half_; ++i) {
      const int32_t at = i * kWide;
      const float cosine = circle_.cosine[angle(m, i)], sine = circle_.sine[angle(m, i)];
      add(scaled(cosine, p_re), even_out_.real + at);
      add(scaled(cosine, p_im), even_out_.imaginary + at);
      if (!mirrored(m) || !mirrored(i)) continue;
      add(scaled(sine, q_re), odd_out_.real + at);
      add(scaled(sine, q_im), odd_out_.imaginary + at);
    }
  }

  HWY_INLINE void unfold() const {
    for (int32_t i = 0; i <= half_; ++i) {
      const int32_t at = i * kWide;
      const auto p_re = load(even_out_.real + at), p_im = load(even_out_.imaginary + at);
      const auto q_re = load(odd_out_.real + at), q_im = load(odd_out_.imaginary + at);
      hn::Store(hn::Add(p_re, q_re), d_, real(i));
      hn::Store(hn::Add(p_im, q_im), d_, imaginary(i));
      if (!mirrored(i)) continue;
      hn::Store(hn::Sub(p_re, q_re), d_, real(group_.count - i));
      hn::Store(hn::Sub(p_im, q_im), d_, imaginary(group_.count - i));
    }
  }

  const DLane d_;
  const DftGroup& group_;
  const int32_t at_, half_;  // frequencies and patches 0..half_
  const Circle& circle_;
  Sums even_, odd_, even_out_, odd_out_;
};

float shrink_dft(const DftGroup& group) {
  const DLane d;
  auto retained = hn::Zero(d);
  for (int32_t c = 0; c < group.size; c += static_cast<int32_t>(hn::Lanes(d))) {
    retained = hn::Add(retained, GroupDft(group, c).run());
  }
  return 1 + hn::GetLane(hn::SumOfLanes(d, retained));
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {
namespace {

HWY_EXPORT(shrink_dft);

// What a hard threshold removes, in place of the group's coefficients; returns how many remain.
float shrink_dft_group(const DftGroup& group) {
  return HWY_DYNAMIC_DISPATCH(shrink_dft)(group);
}

}  // namespace

DftFilter::DftFilter(const Bm3dStage& stage)
    : side_(stage.patch),
      columns_(side_ / 2 + 1),
      size_((side_ * columns_ + 15) / 16 * 16),
      forward_(static_cast<size_t>(side_), false),
      inverse_(static_cast<size_t>(side_), true),
      spectra_(2 * static_cast<size_t>(stage.group) * size_),
      multiplicity_(size_),
      pair_{},
      half_{} {
  std::fill_n(spectra_.data(), spectra_.size(), 0.0f);
  std::fill_n(multiplicity_.data(), size_, 0.0f);
  for (int32_t i = 0; i < side_ * columns_; ++i) {
    const int32_t kx = i % columns_;
    multiplicity_[i] = kx == 0 || 2 * kx == side_ ? 1.0f : 2.0f;
  }
}

uint64_t DftFilter::bytes(const Bm3dStage& stage) {
  const uint64_t size = (stage.patch * (stage.patch / 2 + 1) + 15) / 16 * 16;
  return sizeof(DftFilter) + (2 * stage.group + 1) * size * sizeof(float) + 2 * kAlignment;
}

// Two passes, each of which transposes.
void DftFilter::transform(const kissfft<float>& dft) {
  const size_t n = static_cast<size_t>(side_);
  for (size_t i = 0; i < n; ++i) dft.transform(pair_ + i, half_ + i * n, 0, 1, n);
  for (size_t i = 0; i < n; ++i) dft.transform(half_ + i, pair_ + i * n, 0, 1, n);
}

// The spectra of patches a and b from that of a + i b.
void DftFilter::separate(int32_t a, int32_t b, float scale) {
  float *a_re = real(a), *a_im = imaginary(a), *b_re = real(b), *b_im = imaginary(b);
  for (int32_t ky = 0, i = 0; ky < side_; ++ky) {
    const Complex* row = pair_ + ky * side_;
    const Complex* mirror = pair_ + (ky == 0 ? 0 : side_ - ky) * side_;
    for (int32_t kx = 0; kx < columns_; ++kx, ++i) {
      const Complex z = row[kx], m = mirror[kx == 0 ? 0 : side_ - kx];
      a_re[i] = scale * (z.real() + m.real());
      a_im[i] = scale * (z.imag() - m.imag());
      if (a == b) continue;
      b_re[i] = scale * (z.imag() + m.imag());
      b_im[i] = scale * (m.real() - z.real());
    }
  }
}

void DftFilter::join(int32_t a, int32_t b, float scale) {
  const float *a_re = real(a), *a_im = imaginary(a), *b_re = real(b), *b_im = imaginary(b);
  const float other = a == b ? 0.0f : scale;
  for (int32_t ky = 0; ky < side_; ++ky) {
    for (int32_t kx = 0; kx < columns_; ++kx) {
      const int32_t i = ky * columns_ + kx;
      pair_[ky * side_ + kx] = {scale * a_re[i] - other * b_im[i],
                                scale * a_im[i] + other * b_re[i]};
    }
    for (int32_t kx = columns_; kx < side_; ++kx) {
      const int32_t i = (ky == 0 ? 0 : side_ - ky) * columns_ + side_ - kx;
      pair_[ky * side_ + kx] = {scale * a_re[i] + other * b_im[i],
                                other * b_re[i] - scale * a_im[i]};
    }
  }
}

void DftFilter::store(const GroupFilter& filter, int32_t a, int32_t b) {
  const int32_t stride = filter.tables->stride, size = patch_floats(*filter.tables);
  float *to_a = filter.scratch->noisy + a * size, *to_b = filter.scratch->noisy + b * size;
  for (int32_t y = 0; y < side_; ++y) {
    for (int32_t x = 0; x < side_; ++x) {
      const Complex value = pair_[y * side_ + x];
      to_a[y * stride + x] = value.real();
      if (a != b) to_b[y * stride + x] = value.imag();
    }
  }
}

void DftFilter::run(const GroupFilter& filter, const PatchGroup& group, int32_t c) {
  const Planes& noisy = *filter.noisy;
  const float base = *noisy.at(c, group.x[0], group.y[0]), threshold = filter.stage->shrink[c];
  // Unit noise stays unit noise; half of it where two patches are separated.
  const float scale = 1 / (static_cast<float>(side_) * std::sqrt(static_cast<float>(group.count)));
  for (int32_t a = 0; a < group.count; a += 2) {
    const int32_t b = std::min(a + 1, group.count - 1);
    const float *in_a = noisy.at(c, group.x[a], group.y[a]),
                *in_b = noisy.at(c, group.x[b], group.y[b]);
    for (int32_t y = 0; y < side_; ++y, in_a += noisy.stride(), in_b += noisy.stride()) {
      for (int32_t x = 0; x < side_; ++x) {
        pair_[y * side_ + x] = {in_a[x] - base, a == b ? 0.0f : in_b[x] - base};
      }
    }
    transform(forward_);
    separate(a, b, scale / 2);
  }
  const float retained = shrink_dft_group(
      {group.count, size_, spectra_.data(), multiplicity_.data(), threshold * threshold});
  for (int32_t a = 0; a < group.count; a += 2) {
    const int32_t b = std::min(a + 1, group.count - 1);
    join(a, b, scale);
    transform(inverse_);
    store(filter, a, b);
  }
  add_first_stage(filter, group, c, 1 / retained);
}

}  // namespace grainless
#endif  // HWY_ONCE
