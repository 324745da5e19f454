// SPDX-License-Identifier: MIT
// Sums are formed in an order that does not depend on the width of a vector, and without fused
// multiply-add: the result is the same bits on every instruction set.
//
// Transforms are linear: what a filter removes is transformed back, and taken from the source in
// the end. With one pixel's value subtracted from all patches before, no number is larger than the
// local contrast, and rounding, in which backends differ, is as much smaller. A constant is kept to
// the last bit.
#include "filter.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/bm3d/filter.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whole patches are a multiple of 16 floats.
using DPatch = hn::CappedTag<float, 16>;
using VPatch = hn::Vec<DPatch>;

template <int32_t kGain>
using Gain = std::integral_constant<int32_t, kGain>;

// Haar transforms along a group go through memory once, 16 coefficients at a time: sums stay in
// registers. Coefficient m of the group is the one of a span of patches whose second half begins
// with patch m, and stands in its place; its gain is the span (engine/boundary/bm3d_math.h:
// haar_gain), and the mean's, which ends in the first place, the whole group's.

// The sum of the kSpan patches from `at` on; detail(difference, gain) is kept of each difference.
template <int32_t kSpan, class Detail>
HWY_INLINE VPatch haar_sum(float* HWY_RESTRICT at, ptrdiff_t size, const Detail& detail) {
  const DPatch d;
  if constexpr (kSpan == 1) {
    return hn::Load(d, at);
  } else {
    float* second = at + kSpan / 2 * size;
    const auto a = haar_sum<kSpan / 2>(at, size, detail);
    const auto b = haar_sum<kSpan / 2>(second, size, detail);
    hn::Store(detail(hn::Sub(a, b), Gain<kSpan>()), d, second);
    return hn::Add(a, b);
  }
}

// The way back.
template <int32_t kSpan>
HWY_INLINE void haar_spread(VPatch sum, float* HWY_RESTRICT at, ptrdiff_t size) {
  const DPatch d;
  if constexpr (kSpan == 1) {
    hn::Store(sum, d, at);
  } else {
    float* second = at + kSpan / 2 * size;
    const auto difference = hn::Load(d, second);
    haar_spread<kSpan / 2>(hn::Add(sum, difference), at, size);
    haar_spread<kSpan / 2>(hn::Sub(sum, difference), second, size);
  }
}

// Without the first coefficient of the group.
HWY_INLINE VPatch without_mean(VPatch v, int32_t first) {
  return first == 0 ? hn::IfThenZeroElse(hn::FirstN(DPatch(), 1), v) : v;
}

// What a threshold takes of group coefficients.
class HardThreshold {
 public:
  explicit HardThreshold(float threshold) : threshold_(threshold) {}

  // Leaves what is removed, divided by its gain.
  template <int32_t kGain>
  HWY_INLINE VPatch operator()(VPatch v, Gain<kGain>) const {
    constexpr float kRoot = haar_root(kGain), kBack = 1.0f / kGain;
    const DPatch d;
    const auto removed = hn::Le(hn::Abs(v), hn::Set(d, threshold_ * kRoot));
    count_ += static_cast<int32_t>(hn::CountTrue(d, removed));
    return hn::IfThenElseZero(removed, hn::Mul(v, hn::Set(d, kBack)));
  }
  int32_t count() const { return count_; }

 private:
  float threshold_;
  mutable int32_t count_ = 0;  // of coefficients removed
};

// Leaves the removed part of transformed patches, the mean's place 0. Returns how many coefficients
// remain, the mean among them.
template <int32_t kCount>
HWY_INLINE int32_t hard_threshold(float* group, int32_t size, float threshold) {
  const int32_t n = static_cast<int32_t>(hn::Lanes(DPatch()));
  const HardThreshold shrink(threshold);
  for (int32_t c = 0; c < size; c += n) {
    const auto sum = without_mean(haar_sum<kCount>(group + c, size, shrink), c);
    haar_spread<kCount>(shrink(sum, Gain<kCount>()), group + c, size);
  }
  return 1 + kCount * size - shrink.count();
}

// What the empirical Wiener filter makes of a coefficient: what is removed, over its gain, and the
// square of its weight.
struct Shrunk {
  VPatch rest, square;
};

class Wiener {
 public:
  explicit Wiener(float variance) : variance_(variance) {}

  HWY_INLINE Shrunk operator()(VPatch signal, VPatch value, float gain) const {
    const DPatch d;
    const auto v = hn::Set(d, variance_), gains = hn::Set(d, gain);
    const auto part = hn::Div(v, hn::Add(hn::Mul(signal, signal), hn::Mul(v, gains)));
    const auto weight = hn::Sub(hn::Set(d, 1.0f), hn::Mul(gains, part));
    return {hn::Mul(part, value), hn::Mul(weight, weight)};
  }

 private:
  float variance_;
};

struct WienerSums {
  VPatch noisy, pilot;
};

// haar_sum of both groups. Each pair of differences is filtered at once, so that divisions go on
// while the next sums are formed; its square takes the pilot's place, as squares are added up in
// the order of the coefficients.
template <int32_t kSpan>
HWY_INLINE WienerSums wiener_sums(const Wiener& filter, float* HWY_RESTRICT noisy,
                                  float* HWY_RESTRICT pilot, ptrdiff_t size) {
  const DPatch d;
  if constexpr (kSpan == 1) {
    return {hn::Load(d, noisy), hn::Load(d, pilot)};
  } else {
    const ptrdiff_t second = kSpan / 2 * size;
    const auto a = wiener_sums<kSpan / 2>(filter, noisy, pilot, size);
    const auto b = wiener_sums<kSpan / 2>(filter, noisy + second, pilot + second, size);
    const Shrunk shrunk = filter(hn::Sub(a.pilot, b.pilot), hn::Sub(a.noisy, b.noisy), kSpan);
    hn::Store(shrunk.rest, d, noisy + second);
    hn::Store(shrunk.square, d, pilot + second);
    return {hn::Add(a.noisy, b.noisy), hn::Add(a.pilot, b.pilot)};
  }
}

// Empirical Wiener filter: leaves the removed part of transformed patches. Returns the sum of
// squared weights, the mean's 1 among them. An energy beyond float's range weighs 1.
template <int32_t kCount>
HWY_INLINE float wiener(float* HWY_RESTRICT noisy, float* HWY_RESTRICT pilot, int32_t size,
                        float variance) {
  const DPatch d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d));
  const Wiener filter(variance);
  HWY_ALIGN float sums[16] = {};
  for (int32_t c = 0; c < size; c += n) {
    const auto means = wiener_sums<kCount>(filter, noisy + c, pilot + c, size);
    const Shrunk mean = filter(means.pilot, means.noisy, kCount);
    auto sum = mean.square;
    for (int32_t m = 1; m < kCount; ++m) sum = hn::Add(sum, hn::Load(d, pilot + m * size + c));
    if (c == 0) {
      const float s = hn::GetLane(means.pilot);
      const float kept = 1 - kCount * (variance / (s * s + variance * kCount));
      sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, 1), hn::Set(d, 1 - kept * kept)));
    }
    haar_spread<kCount>(without_mean(mean.rest, c), noisy + c, size);
    hn::Store(hn::Add(sum, hn::Load(d, sums + c % 16)), d, sums + c % 16);
  }
  for (int32_t half = 8; half >= 1; half /= 2) {
    for (int32_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

// A group's patches in one channel, less a constant.
struct GroupValues {
  const Planes& planes;
  int32_t c;
  const PatchGroup& group;
  float base;
};

// A group's weight, and the same in the first stage's steps.
struct GroupWeight {
  float whole;
  PatchWeight first;
};

// Their 2-D transforms. Counts are powers of two, so that only a single patch may go twice.
template <class Basis>
HWY_INLINE void transform_patches(const Basis& basis, const GroupValues& in, float* temporary,
                                  float* out) {
  constexpr int32_t kTogether = Basis::kTogether;
  const PatchGroup& group = in.group;
  for (int32_t i = 0; i < group.count; i += kTogether) {
    PatchCopies<kTogether> copies;
    for (int32_t k = 0; k < kTogether; ++k) {
      const int32_t j = std::min(i + k, group.count - 1);
      copies.image[k] = in.planes.at(in.c, group.x[j], group.y[j]);
      copies.patch[k] = out + j * basis.size();
    }
    basis.forward(copies, in.planes.stride(), in.base, temporary);
  }
}

// What each pixel of the group's patches adds.
HWY_INLINE void set_factors(const FilterTables& tables, float weight, int32_t size,
                            FilterScratch& scratch) {
  const DPatch d;
  for (int32_t i = 0; i < size; i += static_cast<int32_t>(hn::Lanes(d))) {
    const auto w = hn::Mul(hn::Set(d, weight), hn::Load(d, tables.window + i));
    hn::Store(w, d, scratch.factors + i);
  }
}

// The same in the first stage's steps.
HWY_INLINE void set_step_factors(const FilterTables& tables, float factor, FilterScratch& scratch) {
  const DRow d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d));
  for (int32_t x = 0; x < tables.stride; x += n) {
    const auto column = hn::Mul(hn::Set(d, factor), hn::Load(d, tables.kaiser + x));
    for (int32_t y = 0; y < tables.patch; ++y) {
      const auto steps = hn::Mul(column, hn::Set(d, tables.kaiser[y]));
      hn::Store(steps, d, scratch.factors + y * tables.stride + x);
    }
  }
}

// One row of a patch. Nothing is stored between, which would have to be read back in wider vectors.
HWY_INLINE void add_row(const float* HWY_RESTRICT factors, const float* HWY_RESTRICT patch,
                        int32_t shift, int32_t side, int64_t* HWY_RESTRICT sums) {
  const hn::CappedTag<int64_t, 8> d64;
  const hn::Rebind<int32_t, decltype(d64)> d32;
  const hn::Rebind<float, decltype(d64)> d;
  const auto steps = [&](int32_t i) HWY_ATTR {
    const auto value = hn::Mul(hn::LoadU(d, factors + i), hn::LoadU(d, patch + i));
    return hn::ShiftLeftSame(hn::NearestInt(value), shift);
  };
  const int32_t n = static_cast<int32_t>(hn::Lanes(d64));
  int32_t i = 0;
  for (; i + n <= side; i += n) {
    hn::StoreU(hn::Add(hn::LoadU(d64, sums + i), hn::PromoteTo(d64, steps(i))), d64, sums + i);
  }
  // Not a number beyond the patch: the next cell's thread may be at work there.
  if (i == side) return;
  HWY_ALIGN int32_t rest[8];
  hn::StoreU(steps(i), d32, rest);
  for (int32_t k = 0; i < side; ++i, ++k) sums[i] += rest[k];
}

template <class Basis>
HWY_INLINE void add_steps(const Basis& basis, const float* HWY_RESTRICT patch,
                          const PatchWeight& weight, const PatchPlace& at,
                          const FilterScratch& scratch, Aggregate& out) {
  int64_t* removed = out.steps_removed.at(at.c, at.x, at.y);
  const ptrdiff_t stride = out.steps_removed.stride();
  const int32_t side = basis.patch();
  for (int32_t y = 0; y < side; ++y, removed += stride) {
    const int32_t row = y * basis.stride();
    add_row(scratch.factors + row, patch + row, weight.shift, side, removed);
  }
  *out.steps_weight.at(at.c, at.x, at.y) += weight.steps;
}

template <class Basis>
HWY_INLINE void add_patch(const Basis& basis, const float* HWY_RESTRICT factors,
                          const float* HWY_RESTRICT patch, float weight, const PatchPlace& at,
                          Aggregate& out) {
  const DRow d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d)), side = basis.patch();
  const ptrdiff_t stride = out.removed.stride();
  float* HWY_RESTRICT sum = out.removed.at(at.c, at.x, at.y);
  for (int32_t row = 0; row < side; ++row) {
    int32_t i = 0;
    for (; i + n <= side; i += n) {
      const auto value = hn::Mul(hn::Load(d, factors + i), hn::Load(d, patch + i));
      hn::StoreU(hn::Add(hn::LoadU(d, sum + i), value), d, sum + i);
    }
    // Not a float beyond the patch: the next cell's thread may be at work there.
    for (; i < side; ++i) sum[i] += factors[i] * patch[i];
    sum += stride;
    factors += basis.stride();
    patch += basis.stride();
  }
  *out.weight.at(at.c, at.x, at.y) += weight;
}

#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR && HWY_MAX_BYTES >= 32
// 8 x 8 patches from registers: the same sums. All of a patch is added before the next one, which
// may lie over it.
using DSum = hn::CappedTag<int64_t, 8>;
using DSteps = hn::Rebind<int32_t, DRow>;

HWY_INLINE void add_eight(hn::Vec<DSteps> steps, int64_t* HWY_RESTRICT sums) {
  const DSum d;
#if HWY_MAX_BYTES >= 64
  hn::StoreU(hn::Add(hn::LoadU(d, sums), hn::PromoteTo(d, steps)), d, sums);
#else
  hn::StoreU(hn::Add(hn::LoadU(d, sums), hn::PromoteLowerTo(d, steps)), d, sums);
  hn::StoreU(hn::Add(hn::LoadU(d, sums + 4), hn::PromoteUpperTo(d, steps)), d, sums + 4);
#endif
}

template <class Steps>
HWY_INLINE void add_steps_rows(const Steps (&rows)[8], int32_t patch, int32_t weight,
                               const PatchPlace& at, Aggregate& out) {
  int64_t* HWY_RESTRICT removed = out.steps_removed.at(at.c, at.x, at.y);
  const ptrdiff_t stride = out.steps_removed.stride();
  for (int32_t y = 0; y < 8; ++y, removed += stride) add_eight(row_of(rows[y], patch), removed);
  *out.steps_weight.at(at.c, at.x, at.y) += weight;
}

HWY_INLINE void add_patch_rows(const VRows (&rows)[8], int32_t patch, float weight,
                               const PatchPlace& at, Aggregate& out) {
  const DRow d;
  float* HWY_RESTRICT sum = out.removed.at(at.c, at.x, at.y);
  const ptrdiff_t stride = out.removed.stride();
  for (int32_t y = 0; y < 8; ++y, sum += stride) {
    hn::StoreU(hn::Add(hn::LoadU(d, sum), row_of(rows[y], patch)), d, sum);
  }
  *out.weight.at(at.c, at.x, at.y) += weight;
}

// Transforms patches i.. of the group back and adds them.
template <class Basis>
HWY_INLINE void add_back(const Basis& basis, const GroupFilter& filter, const PatchGroup& group,
                         int32_t c, int32_t i, const GroupWeight& weight) {
  FilterScratch& scratch = *filter.scratch;
  Aggregate& out = *filter.out;
  const float* patches[Basis::kTogether];
  for (int32_t k = 0; k < Basis::kTogether; ++k) {
    patches[k] = scratch.noisy + std::min(i + k, group.count - 1) * basis.size();
  }
  VRows rows[8];
  basis.inverse_rows(patches, rows);
  for (int32_t y = 0; y < 8; ++y) rows[y] = hn::Mul(repeat_row(scratch.factors + 8 * y), rows[y]);
  const auto place = [&](int32_t k) { return PatchPlace{c, group.x[i + k], group.y[i + k]}; };
  const auto takes = [&](int32_t k) {
    return i + k < group.count && out.takes(group.x[i + k], group.y[i + k], 8);
  };
  if (filter.pilot != nullptr) {
    for (int32_t k = 0; k < Basis::kTogether; ++k) {
      if (takes(k)) add_patch_rows(rows, k, weight.whole, place(k), out);
    }
    return;
  }
  hn::Vec<hn::RebindToSigned<DRows>> steps[8];
  for (int32_t y = 0; y < 8; ++y) {
    steps[y] = hn::ShiftLeftSame(hn::NearestInt(rows[y]), weight.first.shift);
  }
  for (int32_t k = 0; k < Basis::kTogether; ++k) {
    if (takes(k)) add_steps_rows(steps, k, weight.first.steps, place(k), out);
  }
}
#endif

// The same by way of memory.
template <class Basis>
HWY_INLINE void add_back_any(const Basis& basis, const GroupFilter& filter, const PatchGroup& group,
                             int32_t c, int32_t i, const GroupWeight& weight) {
  FilterScratch& scratch = *filter.scratch;
  if (!filter.out->takes(group.x[i], group.y[i], basis.patch())) return;
  float* const patches[1] = {scratch.noisy + i * basis.size()};
  basis.inverse(patches, scratch.temporary);
  const PatchPlace at{c, group.x[i], group.y[i]};
  if (filter.pilot == nullptr) {
    add_steps(basis, patches[0], weight.first, at, scratch, *filter.out);
  } else {
    add_patch(basis, scratch.factors, patches[0], weight.whole, at, *filter.out);
  }
}

// Filters a group's patches along the group. Returns its weight.
template <int32_t kCount>
HWY_INLINE float shrink_group(const GroupFilter& filter, int32_t size, float shrink) {
  FilterScratch& scratch = *filter.scratch;
  if (filter.pilot == nullptr) {
    return 1.0f / static_cast<float>(hard_threshold<kCount>(scratch.noisy, size, shrink));
  }
  return 1.0f / wiener<kCount>(scratch.noisy, scratch.pilot, size, shrink);
}

HWY_INLINE float shrink_any(const GroupFilter& filter, int32_t count, int32_t size, float shrink) {
  switch (count) {
    case 1:
      return shrink_group<1>(filter, size, shrink);
    case 2:
      return shrink_group<2>(filter, size, shrink);
    case 4:
      return shrink_group<4>(filter, size, shrink);
    case 8:
      return shrink_group<8>(filter, size, shrink);
    case 16:
      return shrink_group<16>(filter, size, shrink);
    default:
      return shrink_group<kMaxGroup>(filter, size, shrink);
  }
}

template <class Basis>
HWY_INLINE void filter_with(const Basis& basis, const GroupFilter& filter, const PatchGroup& group,
                            int32_t c) {
  const FilterTables& tables = *filter.tables;
  const int32_t size = basis.size();
  FilterScratch& scratch = *filter.scratch;
  const bool first = filter.pilot == nullptr;
  const float shrink = filter.stage->shrink[c];
  const Planes& guide = first ? *filter.noisy : *filter.pilot;
  const float base = *guide.at(c, group.x[0], group.y[0]);
  transform_patches(basis, {*filter.noisy, c, group, base}, scratch.temporary, scratch.noisy);
  if (!first) transform_patches(basis, {guide, c, group, base}, scratch.temporary, scratch.pilot);
  GroupWeight weight{shrink_any(filter, group.count, size, shrink), {}};
  if (first) {
    weight.first = first_stage_weight(weight.whole, tables.sums[c]);
    set_step_factors(tables, weight.first.factor, scratch);
  } else {
    set_factors(tables, weight.whole, size, scratch);
  }
  for (int32_t i = 0; i < group.count; i += Basis::kTogether) {
    if constexpr (Basis::kInRegisters) {
      add_back(basis, filter, group, c, i, weight);
    } else {
      add_back_any(basis, filter, group, c, i, weight);
    }
  }
}

void filter_any(const GroupFilter& filter, const PatchGroup& group, int32_t c) {
  const FilterTables& tables = *filter.tables;
  if (tables.patch != 8 || tables.transform == Transform::kHadamard) {
    filter_with(MatrixBasis(tables), filter, group, c);
  } else if (tables.transform == Transform::kDct) {
    const Basis8<DctPass, Dct8> basis(tables.dct, tables.dct);
    filter_with(basis, filter, group, c);
  } else {
    const Basis8<PairPass, Pairs8> basis(tables.pairs, tables.pairs_back);
    filter_with(basis, filter, group, c);
  }
}

void add_group(const GroupFilter& filter, const PatchGroup& group, int32_t c, float weight) {
  const MatrixBasis basis(*filter.tables);
  const int32_t size = basis.size();
  FilterScratch& scratch = *filter.scratch;
  const PatchWeight steps = first_stage_weight(weight, filter.tables->sums[c]);
  set_step_factors(*filter.tables, steps.factor, scratch);
  for (int32_t i = 0; i < group.count; ++i) {
    const int32_t x = group.x[i], y = group.y[i];
    if (!filter.out->takes(x, y, filter.tables->patch)) continue;
    add_steps(basis, scratch.noisy + i * size, steps, {c, x, y}, scratch, *filter.out);
  }
}

// Sums of a channel; weights are those of patches. removed / weight * ratio is what the estimate
// takes from the picture.
template <typename Removed, typename Weight>
struct Quotient {
  const BasicPlanes<Removed>& removed;
  const BasicPlanes<Weight>& weight;
  float ratio;
};

// A weight of patches as a float.
HWY_INLINE auto load_weights(hn::ScalableTag<float> d, const float* from) {
  return hn::LoadU(d, from);
}
HWY_INLINE auto load_weights(hn::ScalableTag<float> d, const int32_t* from) {
  return hn::ConvertTo(d, hn::LoadU(hn::RebindToSigned<decltype(d)>(), from));
}

// to[i] = the sum of kaiser[k] * lines[k][i].
template <typename T>
HWY_INLINE void add_lines(const float* HWY_RESTRICT kaiser, const T* const (&lines)[kMaxPatch],
                          int32_t line_count, int32_t count, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d));
  int32_t i = 0;
  for (; i + n <= count; i += n) {
    auto sum = hn::Zero(d);
    for (int32_t k = 0; k < line_count; ++k) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, kaiser[k]), load_weights(d, lines[k] + i)));
    }
    hn::StoreU(sum, d, to + i);
  }
  for (; i < count; ++i) {
    float sum = 0;
    for (int32_t k = 0; k < line_count; ++k) sum += kaiser[k] * static_cast<float>(lines[k][i]);
    to[i] = sum;
  }
}

// Weights of a row's pixels from those of patches (engine/boundary/bm3d_math.h).
class WeightRow {
 public:
  WeightRow(const FilterTables& tables, int32_t x, int32_t width)
      : tables_(tables),
        x_(x - tables.patch + 1),
        columns_(static_cast<size_t>(width) + tables.patch - 1),
        weights_(width) {}

  template <typename Weight>
  HWY_INLINE const float* sum(const BasicPlanes<Weight>& of_patches, int32_t c, int32_t y) {
    const Rect& rect = of_patches.rect();
    const int32_t patch = tables_.patch, rows = std::min(patch, y - rect.y + 1);
    const int32_t width = static_cast<int32_t>(columns_.size()), missing = std::max(rect.x - x_, 0);
    const Weight* lines[kMaxPatch] = {};
    for (int32_t k = 0; k < rows; ++k) lines[k] = of_patches.at(c, x_ + missing, y - k);
    std::fill_n(columns_.data(), missing, 0.0f);
    add_lines(tables_.kaiser, lines, rows, width - missing, columns_.data() + missing);
    const float* shifted[kMaxPatch] = {};
    for (int32_t k = 0; k < patch; ++k) shifted[k] = columns_.data() + patch - 1 - k;
    add_lines(tables_.kaiser, shifted, patch, width - patch + 1, weights_.data());
    return weights_.data();
  }

 private:
  const FilterTables& tables_;
  int32_t x_;  // of the first patch that reaches the row
  std::vector<float> columns_, weights_;
};

template <typename Removed, typename Weight>
HWY_INLINE void estimate_rows(const Quotient<Removed, Weight>& sums, const FilterTables& tables,
                              const Rect& rows, const Planes& noisy, int32_t c, Planes& out) {
  WeightRow weights(tables, rows.x, rows.width);
  for (int32_t y = rows.y; y < rows.bottom(); ++y) {
    const float* HWY_RESTRICT weight = weights.sum(sums.weight, c, y);
    const Removed* HWY_RESTRICT value = sums.removed.at(c, rows.x, y);
    const float* HWY_RESTRICT source = noisy.at(c, rows.x, y);
    float* HWY_RESTRICT to = out.at(c, rows.x, y);
    for (int32_t x = 0; x < rows.width; ++x) {
      to[x] = source[x] - static_cast<float>(value[x]) / weight[x] * sums.ratio;
    }
  }
}

void estimate_band(const Aggregate& sums, const FilterTables& tables, const Rect& rows,
                   const Planes& noisy, int32_t c, Planes& out) {
  if (sums.first_stage()) {
    const float ratio = tables.sums[c].ratio;
    estimate_rows<int64_t, int32_t>({sums.steps_removed, sums.steps_weight, ratio}, tables, rows,
                                    noisy, c, out);
  } else {
    estimate_rows<float, float>({sums.removed, sums.weight, 1.0f}, tables, rows, noisy, c, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {

HWY_EXPORT(filter_any);
HWY_EXPORT(add_group);
HWY_EXPORT(estimate_band);

void filter_group(const GroupFilter& filter, const PatchGroup& group, int32_t c) {
  HWY_DYNAMIC_DISPATCH(filter_any)(filter, group, c);
}

void add_first_stage(const GroupFilter& filter, const PatchGroup& group, int32_t c, float weight) {
  HWY_DYNAMIC_DISPATCH(add_group)(filter, group, c, weight);
}

Aggregate::Aggregate(const Rect& wanted, const Rect& rect, int32_t channels, bool first_stage)
    : wanted(wanted) {
  if (first_stage) {
    steps_removed = BasicPlanes<int64_t>(channels, rect);
    steps_weight = BasicPlanes<int32_t>(channels, rect);
  } else {
    removed = Planes(channels, rect);
    weight = Planes(channels, rect);
  }
}

uint64_t Aggregate::bytes(int32_t channels, const Rect& rect, bool first_stage) {
  const int32_t width = rect.width, height = rect.height;
  return first_stage ? BasicPlanes<int64_t>::bytes(channels, width, height) +
                           BasicPlanes<int32_t>::bytes(channels, width, height)
                     : 2 * Planes::bytes(channels, width, height);
}

namespace {

template <typename T>
void clear_rows(BasicPlanes<T>& planes, int32_t c, int32_t y0, int32_t y1) {
  for (int32_t y = y0; y < y1; ++y) {
    std::fill_n(planes.at(c, planes.rect().x, y), planes.rect().width, T{0});
  }
}

}  // namespace

void Aggregate::clear(int32_t c, int32_t y0, int32_t y1) {
  if (first_stage()) {
    clear_rows(steps_removed, c, y0, y1);
    clear_rows(steps_weight, c, y0, y1);
  } else {
    clear_rows(removed, c, y0, y1);
    clear_rows(weight, c, y0, y1);
  }
}

void Aggregate::estimate(const FilterTables& tables, const Planes& noisy, int32_t c, int32_t y0,
                         int32_t y1, Planes& out) const {
  const Rect rows{wanted.x, y0, wanted.width, y1 - y0};
  HWY_DYNAMIC_DISPATCH(estimate_band)(*this, tables, rows, noisy, c, out);
}

FilterTables::FilterTables(const Bm3dStage& stage)
    : patch(stage.patch),
      stride((stage.patch + 7) / 8 * 8),
      transform(static_cast<Transform>(stage.transform)),
      dct{},
      pairs{},
      pairs_back{},
      forward{},
      inverse{},
      forward_t{},
      inverse_t{},
      window{},
      kaiser{},
      sums{} {
  std::copy(stage.forward, stage.forward + patch * patch, forward);
  std::copy(stage.inverse, stage.inverse + patch * patch, inverse);
  if (patch == 8 && transform == Transform::kDct) {
    dct = dct_parts(forward);
  } else if (patch == 8 && transform != Transform::kDft) {
    pairs = pair_parts(forward);
    pairs_back = inverse_parts(pairs);
  }
  for (int32_t y = 0; y < patch; ++y) {
    for (int32_t x = 0; x < patch; ++x) {
      forward_t[y * stride + x] = stage.forward[x * patch + y];
      inverse_t[y * stride + x] = stage.inverse[x * patch + y];
      window[y * stride + x] = stage.kaiser[y] * stage.kaiser[x];
    }
  }
  std::copy_n(stage.kaiser, patch, kaiser);
  if (stage.rule != static_cast<int32_t>(GroupRule::kHardThreshold)) return;
  for (int32_t c = 0; c < kMaxChannels; ++c) {
    if (stage.shrink[c] > 0) sums[c] = first_stage_sums(stage, c);
  }
}

}  // namespace grainless
#endif  // HWY_ONCE
