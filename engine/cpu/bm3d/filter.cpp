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

// One step of the Haar transform: a, b = a + b, a - b.
HWY_INLINE void butterfly(float* HWY_RESTRICT a, float* HWY_RESTRICT b) {
  const DPatch d;
  const auto va = hn::Load(d, a), vb = hn::Load(d, b);
  hn::Store(hn::Add(va, vb), d, a);
  hn::Store(hn::Sub(va, vb), d, b);
}

// Haar transform along `count` patches of `size` coefficients (engine/boundary/bm3d_math.h:
// haar_gain); the mean ends in the first.
HWY_INLINE void haar(float* group, int32_t count, int32_t size, bool forward) {
  const int32_t n = static_cast<int32_t>(hn::Lanes(DPatch()));
  for (int32_t c = 0; c < size; c += n) {
    for (int32_t i = 1; i < count; i *= 2) {
      const int32_t step = forward ? i : count / 2 / i;
      for (int32_t j = 0; j < count; j += 2 * step) {
        butterfly(group + j * size + c, group + (j + step) * size + c);
      }
    }
  }
}

// Leaves what is removed, divided by its gain; returns how many coefficients remain, the mean among
// them.
HWY_INLINE int32_t hard_threshold(float* group, int32_t count, int32_t size, float threshold) {
  const DPatch d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d));
  group[0] = 0;
  int32_t retained = 1 + count * size;
  for (int32_t m = 0; m < count; ++m) {
    const float gain = haar_gain(m, count);
    const auto bound = hn::Set(d, threshold * haar_root(gain)), back = hn::Set(d, 1 / gain);
    for (int32_t i = m * size; i < (m + 1) * size; i += n) {
      const auto v = hn::Load(d, group + i);
      const auto removed = hn::Le(hn::Abs(v), bound);
      retained -= static_cast<int32_t>(hn::CountTrue(d, removed));
      hn::Store(hn::IfThenElseZero(removed, hn::Mul(v, back)), d, group + i);
    }
  }
  return retained;
}

// Empirical Wiener filter: leaves what is removed, divided by its gain. Returns the sum of squared
// weights, the mean's 1 among them. An energy beyond float's range weighs 1.
HWY_INLINE float wiener(float* HWY_RESTRICT noisy, const float* HWY_RESTRICT pilot,
                        float* HWY_RESTRICT sums, int32_t count, int32_t size, float variance) {
  const DPatch d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d));
  const float gain = haar_gain(0, count);
  const float kept = 1 - gain * (variance / (pilot[0] * pilot[0] + variance * gain));
  const auto v = hn::Set(d, variance), one = hn::Set(d, 1.0f);
  for (int32_t c = 0; c < size; c += n) {
    auto sum = hn::Zero(d);
    for (int32_t m = 0; m < count; ++m) {
      const int32_t i = m * size + c;
      const auto gains = hn::Set(d, haar_gain(m, count));
      const auto s = hn::Load(d, pilot + i);
      const auto part = hn::Div(v, hn::Add(hn::Mul(s, s), hn::Mul(v, gains)));
      const auto weight = hn::Sub(one, hn::Mul(gains, part));
      sum = hn::Add(sum, hn::Mul(weight, weight));
      hn::Store(hn::Mul(part, hn::Load(d, noisy + i)), d, noisy + i);
    }
    hn::Store(sum, d, sums + c);
  }
  sums[0] += 1 - kept * kept;
  noisy[0] = 0;
  float* last = sums + size - 16;
  for (float* in = sums; in < last; ++in) in[16] += in[0];
  for (int32_t half = 8; half >= 1; half /= 2) {
    for (int32_t i = 0; i < half; ++i) last[i] += last[i + half];
  }
  return last[0];
}

// A group's patches in one channel, less a constant.
struct GroupValues {
  const Planes& planes;
  int32_t c;
  const PatchGroup& group;
  float base;
};

// Their 3-D transform.
template <class Basis>
HWY_INLINE void analyse(const Basis& basis, const GroupValues& in, float* temporary, float* out) {
  const PatchGroup& group = in.group;
  for (int32_t i = 0; i < group.count; ++i) {
    const float* patch = in.planes.at(in.c, group.x[i], group.y[i]);
    basis.forward(patch, in.planes.stride(), in.base, temporary, out + i * basis.size());
  }
  haar(out, group.count, basis.size(), true);
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

// The same in steps.
HWY_INLINE void round_factors(const Bm3dSumScale& scale, int32_t size, FilterScratch& scratch) {
  const DPatch d;
  for (int32_t i = 0; i < size; i += static_cast<int32_t>(hn::Lanes(d))) {
    const auto w = hn::Load(d, scratch.factors + i);
    const auto steps = hn::NearestInt(hn::Mul(w, hn::Set(d, scale.weight_steps)));
    hn::Store(steps, hn::RebindToSigned<DPatch>(), scratch.weights + i);
    const auto factor = hn::Mul(hn::ConvertTo(d, steps), hn::Set(d, scale.removed_scale));
    hn::Store(factor, d, scratch.factors + i);
  }
}

// sums += values, rows with `stride` and `values_stride` between them.
HWY_INLINE void add_rows(const int32_t* HWY_RESTRICT values, int32_t values_stride, int32_t side,
                         int64_t* HWY_RESTRICT sums, ptrdiff_t stride) {
  for (int32_t y = 0; y < side; ++y, sums += stride, values += values_stride) {
    for (int32_t x = 0; x < side; ++x) sums[x] += values[x];
  }
}

template <class Basis>
HWY_INLINE void add_steps(const Basis& basis, const float* HWY_RESTRICT patch, float largest,
                          const PatchPlace& at, FilterScratch& scratch, Aggregate& out) {
  const DRow d;  // as wide as what has just been stored
  const auto high = hn::Set(d, largest), low = hn::Set(d, -largest);
  for (int32_t i = 0; i < basis.size(); i += static_cast<int32_t>(hn::Lanes(d))) {
    const auto value = hn::Mul(hn::Load(d, scratch.factors + i), hn::Load(d, patch + i));
    hn::Store(hn::NearestInt(hn::Min(hn::Max(value, low), high)), hn::RebindToSigned<DRow>(),
              scratch.rounded + i);
  }
  add_rows(scratch.rounded, basis.stride(), basis.patch(), out.steps_removed.at(at.c, at.x, at.y),
           out.steps_removed.stride());
  add_rows(scratch.weights, basis.stride(), basis.patch(), out.steps_weight.at(at.c, at.x, at.y),
           out.steps_weight.stride());
}

template <class Basis>
HWY_INLINE void add_patch(const Basis& basis, const float* HWY_RESTRICT factors,
                          const float* HWY_RESTRICT patch, const PatchPlace& at, Aggregate& out) {
  const DRow d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d)), side = basis.patch();
  const ptrdiff_t stride = out.removed.stride();
  float* HWY_RESTRICT sum = out.removed.at(at.c, at.x, at.y);
  float* HWY_RESTRICT weight = out.weight.at(at.c, at.x, at.y);
  for (int32_t row = 0; row < side; ++row) {
    int32_t i = 0;
    for (; i + n <= side; i += n) {
      const auto w = hn::Load(d, factors + i);
      const auto value = hn::Mul(w, hn::Load(d, patch + i));
      hn::StoreU(hn::Add(hn::LoadU(d, sum + i), value), d, sum + i);
      hn::StoreU(hn::Add(hn::LoadU(d, weight + i), w), d, weight + i);
    }
    // Not a float beyond the patch: the next cell's thread may be at work there.
    for (; i < side; ++i) {
      sum[i] += factors[i] * patch[i];
      weight[i] += factors[i];
    }
    sum += stride;
    weight += stride;
    factors += basis.stride();
    patch += basis.stride();
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
  float weight;
  analyse(basis, {*filter.noisy, c, group, base}, scratch.temporary, scratch.noisy);
  if (first) {
    weight = 1.0f / static_cast<float>(hard_threshold(scratch.noisy, group.count, size, shrink));
  } else {
    analyse(basis, {guide, c, group, base}, scratch.temporary, scratch.pilot);
    weight =
        1.0f / wiener(scratch.noisy, scratch.pilot, scratch.temporary, group.count, size, shrink);
  }
  haar(scratch.noisy, group.count, size, false);
  const Bm3dSumScale scale = first_stage_sums(filter.stage->group, shrink);
  set_factors(tables, weight, size, scratch);
  if (first) round_factors(scale, size, scratch);
  for (int32_t i = 0; i < group.count; ++i) {
    if (!filter.out->takes(group.x[i], group.y[i], tables.patch)) continue;
    float* patch = scratch.noisy + i * size;
    basis.inverse(scratch.temporary, patch);
    const PatchPlace at{c, group.x[i], group.y[i]};
    if (first) {
      add_steps(basis, patch, scale.largest, at, scratch, *filter.out);
    } else {
      add_patch(basis, scratch.factors, patch, at, *filter.out);
    }
  }
}

void filter_any(const GroupFilter& filter, const PatchGroup& group, int32_t c) {
  const FilterTables& tables = *filter.tables;
  if (tables.patch != 8 || tables.transform == Transform::kHadamard) {
    filter_with(MatrixBasis(tables), filter, group, c);
  } else if (tables.transform == Transform::kDct) {
    const Basis8<DctPass<RowOps>, Dct8> basis(tables.dct, tables.dct);
    filter_with(basis, filter, group, c);
  } else {
    const Basis8<PairPass<RowOps>, Pairs8> basis(tables.pairs, tables.pairs_back);
    filter_with(basis, filter, group, c);
  }
}

void add_group(const GroupFilter& filter, const PatchGroup& group, int32_t c, float weight) {
  const MatrixBasis basis(*filter.tables);
  const int32_t size = basis.size();
  FilterScratch& scratch = *filter.scratch;
  const Bm3dSumScale scale = first_stage_sums(filter.stage->group, filter.stage->shrink[c]);
  set_factors(*filter.tables, weight, size, scratch);
  round_factors(scale, size, scratch);
  for (int32_t i = 0; i < group.count; ++i) {
    const int32_t x = group.x[i], y = group.y[i];
    if (!filter.out->takes(x, y, filter.tables->patch)) continue;
    add_steps(basis, scratch.noisy + i * size, scale.largest, {c, x, y}, scratch, *filter.out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {

HWY_EXPORT(filter_any);
HWY_EXPORT(add_group);

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
    steps_weight = BasicPlanes<int64_t>(channels, rect);
  } else {
    removed = Planes(channels, rect);
    weight = Planes(channels, rect);
  }
}

uint64_t Aggregate::bytes(int32_t channels, const Rect& rect, bool first_stage) {
  return 2 * (first_stage ? BasicPlanes<int64_t>::bytes(channels, rect.width, rect.height)
                          : Planes::bytes(channels, rect.width, rect.height));
}

bool Aggregate::takes(int32_t x, int32_t y, int32_t patch) const {
  return !intersect(wanted, {x, y, patch, patch}).empty();
}

namespace {

template <typename T>
void clear_rows(BasicPlanes<T>& planes, int32_t c, int32_t y0, int32_t y1) {
  for (int32_t y = y0; y < y1; ++y) {
    std::fill_n(planes.at(c, planes.rect().x, y), planes.rect().width, T{0});
  }
}

// removed / weight * ratio is what the estimate takes from the picture.
template <typename T>
struct Quotient {
  const BasicPlanes<T>&removed, &weight;
  float ratio;
};

template <typename T>
void estimate_rows(const Quotient<T>& sums, const Rect& rows, const Planes& noisy, int32_t c,
                   Planes& out) {
  const float ratio = sums.ratio;
  for (int32_t y = rows.y; y < rows.bottom(); ++y) {
    const T* value = sums.removed.at(c, rows.x, y);
    const T* by = sums.weight.at(c, rows.x, y);
    const float* source = noisy.at(c, rows.x, y);
    float* to = out.at(c, rows.x, y);
    for (int32_t x = 0; x < rows.width; ++x) {
      to[x] = source[x] - static_cast<float>(value[x]) / static_cast<float>(by[x]) * ratio;
    }
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

void Aggregate::estimate(const Bm3dStage& stage, const Planes& noisy, int32_t c, int32_t y0,
                         int32_t y1, Planes& out) const {
  const Rect rows{wanted.x, y0, wanted.width, y1 - y0};
  if (first_stage()) {
    const float ratio = first_stage_sums(stage.group, stage.shrink[c]).ratio;
    estimate_rows<int64_t>({steps_removed, steps_weight, ratio}, rows, noisy, c, out);
  } else {
    estimate_rows<float>({removed, weight, 1.0f}, rows, noisy, c, out);
  }
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
      window{} {
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
}

}  // namespace grainless
#endif  // HWY_ONCE
