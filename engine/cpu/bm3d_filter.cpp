// SPDX-License-Identifier: MIT
// Sums are formed in an order that does not depend on the width of a vector, and without fused
// multiply-add: the result is the same bits on every instruction set.
//
// Transforms are linear: what a filter removes is transformed back, and taken from the source in
// the end. With one pixel's value subtracted from all patches before, no number is larger than the
// local contrast, and rounding, in which backends differ, is as much smaller. A constant is kept to
// the last bit.
#include "bm3d_filter.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/bm3d_filter.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "bm3d_transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whole patches are a multiple of 16 floats.
using DPatch = hn::CappedTag<float, 16>;

// One step of the Haar transform: a, b = (a + b, a - b) / sqrt 2. Its own inverse.
HWY_INLINE void butterfly(float* HWY_RESTRICT a, float* HWY_RESTRICT b) {
  const DPatch d;
  const auto half = hn::Set(d, 0.70710678118654752f);
  const auto va = hn::Load(d, a), vb = hn::Load(d, b);
  hn::Store(hn::Mul(hn::Add(va, vb), half), d, a);
  hn::Store(hn::Mul(hn::Sub(va, vb), half), d, b);
}

// Orthonormal Haar transform along `count` patches of `size` coefficients; the mean ends in the
// first.
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

// Leaves what is removed; returns how many coefficients remain, the mean among them.
HWY_INLINE int32_t hard_threshold(float* group, int32_t total, float threshold) {
  const DPatch d;
  const auto bound = hn::Set(d, threshold);
  group[0] = 0;
  int32_t retained = 1;
  for (int32_t i = 0; i < total; i += static_cast<int32_t>(hn::Lanes(d))) {
    const auto v = hn::Load(d, group + i);
    const auto keep = hn::Gt(hn::Abs(v), bound);
    retained += static_cast<int32_t>(hn::CountTrue(d, keep));
    hn::Store(hn::IfThenZeroElse(keep, v), d, group + i);
  }
  return retained;
}

// Empirical Wiener filter: leaves what is removed. Returns the sum of squared weights, the mean's 1
// among them. An energy beyond float's range weighs 1.
HWY_INLINE float wiener(float* HWY_RESTRICT noisy, const float* HWY_RESTRICT pilot,
                        float* HWY_RESTRICT sums, int32_t count, int32_t size, float variance) {
  const DPatch d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d));
  const float energy = pilot[0] * pilot[0], weight = 1 - variance / (energy + variance);
  const auto v = hn::Set(d, variance), one = hn::Set(d, 1.0f);
  for (int32_t c = 0; c < size; c += n) {
    auto sum = hn::Zero(d);
    for (int32_t i = c; i < count * size; i += size) {
      const auto s = hn::Load(d, pilot + i);
      const auto removed = hn::Div(v, hn::Add(hn::Mul(s, s), v));
      const auto kept = hn::Sub(one, removed);
      sum = hn::Add(sum, hn::Mul(kept, kept));
      hn::Store(hn::Mul(removed, hn::Load(d, noisy + i)), d, noisy + i);
    }
    hn::Store(sum, d, sums + c);
  }
  sums[0] += 1 - weight * weight;
  noisy[0] = 0;
  float* last = sums + size - 16;
  for (float* in = sums; in < last; ++in) in[16] += in[0];
  for (int32_t half = 8; half >= 1; half /= 2) {
    for (int32_t i = 0; i < half; ++i) last[i] += last[i + half];
  }
  return last[0];
}

// 3-D transform of the group's patches in one channel, less the constant `base`.
template <class Basis>
HWY_INLINE void analyse(const Basis& basis, const Planes& plane, int32_t c, const PatchGroup& group,
                        float base, float* temporary, float* out) {
  for (int32_t i = 0; i < group.count; ++i) {
    const float* in = plane.at(c, group.x[i], group.y[i]);
    basis.forward(in, plane.stride(), base, temporary, out + i * basis.size());
  }
  haar(out, group.count, basis.size(), true);
}

template <class Basis>
HWY_INLINE void add_patch(const Basis& basis, const float* HWY_RESTRICT window,
                          const float* HWY_RESTRICT patch, int32_t c, int32_t x, int32_t y,
                          Aggregate& out) {
  const DRow d;
  const int32_t n = static_cast<int32_t>(hn::Lanes(d)), side = basis.patch();
  const ptrdiff_t stride = out.sum.stride();
  float* HWY_RESTRICT sum = out.sum.at(c, x, y);
  float* HWY_RESTRICT weight = out.weight.at(c, x, y);
  for (int32_t row = 0; row < side; ++row) {
    int32_t i = 0;
    for (; i + n <= side; i += n) {
      const auto w = hn::Load(d, window + i);
      const auto value = hn::Mul(w, hn::Load(d, patch + i));
      hn::StoreU(hn::Add(hn::LoadU(d, sum + i), value), d, sum + i);
      hn::StoreU(hn::Add(hn::LoadU(d, weight + i), w), d, weight + i);
    }
    // Not a float beyond the patch: the next cell's thread may be at work there.
    for (; i < side; ++i) {
      sum[i] += window[i] * patch[i];
      weight[i] += window[i];
    }
    sum += stride;
    weight += stride;
    window += basis.stride();
    patch += basis.stride();
  }
}

template <class Basis>
void filter_with(const GroupFilter& filter, const PatchGroup& group, int32_t c, float shrink) {
  const FilterTables& tables = *filter.tables;
  const Basis basis(tables);
  const int32_t size = basis.size(), total = group.count * size;
  float* noisy = filter.scratch->noisy;
  float* pilot = filter.scratch->pilot;
  float* temporary = filter.scratch->temporary;
  const Planes& guide = filter.pilot != nullptr ? *filter.pilot : *filter.noisy;
  const float base = *guide.at(c, group.x[0], group.y[0]);
  float weight;
  analyse(basis, *filter.noisy, c, group, base, temporary, noisy);
  if (filter.pilot == nullptr) {
    weight = 1.0f / static_cast<float>(hard_threshold(noisy, total, shrink));
  } else {
    analyse(basis, guide, c, group, base, temporary, pilot);
    weight = 1.0f / wiener(noisy, pilot, temporary, group.count, size, shrink);
  }
  haar(noisy, group.count, size, false);
  const DPatch d;
  for (int32_t i = 0; i < size; i += static_cast<int32_t>(hn::Lanes(d))) {
    hn::Store(hn::Mul(hn::Set(d, weight), hn::Load(d, tables.window + i)), d, pilot + i);
  }
  for (int32_t i = 0; i < group.count; ++i) {
    if (!filter.out->takes(group.x[i], group.y[i], tables.patch)) continue;
    basis.inverse(temporary, noisy + i * size);
    add_patch(basis, pilot, noisy + i * size, c, group.x[i], group.y[i], *filter.out);
  }
}

void filter_any(const GroupFilter& filter, const PatchGroup& group, int32_t c, float shrink) {
  if (filter.tables->patch != 8)
    filter_with<MatrixBasis>(filter, group, c, shrink);
  else if (filter.tables->transform == Transform::kDct)
    filter_with<Basis8<DctPass>>(filter, group, c, shrink);
  else
    filter_with<Basis8<PairPass>>(filter, group, c, shrink);
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {

HWY_EXPORT(filter_any);

void filter_group(const GroupFilter& filter, const PatchGroup& group, int32_t c, float shrink) {
  HWY_DYNAMIC_DISPATCH(filter_any)(filter, group, c, shrink);
}

bool Aggregate::takes(int32_t x, int32_t y, int32_t patch) const {
  return !intersect(wanted, {x, y, patch, patch}).empty();
}

void Aggregate::estimate(const Planes& noisy, int32_t c, int32_t y0, int32_t y1) {
  for (int32_t y = y0; y < y1; ++y) {
    float* value = sum.at(c, wanted.x, y);
    const float* by = weight.at(c, wanted.x, y);
    const float* source = noisy.at(c, wanted.x, y);
    for (int32_t x = 0; x < wanted.width; ++x) value[x] = source[x] - value[x] / by[x];
  }
}

namespace {

Dct8 dct_parts(const float* m) {
  Dct8 k{m[0], {m[16], m[17]}, {}};
  for (int32_t i = 0; i < 16; ++i) k.odd[i / 4][i % 4] = m[(2 * (i / 4) + 1) * 8 + i % 4];
  return k;
}

Pairs8 pair_parts(const float* m) {
  const float* detail3 = m + 8;
  const float* detail2 = m + 16;
  return {m[0],
          {(detail3[0] + detail3[1]) / 2, (detail3[1] - detail3[0]) / 2},
          {(detail2[0] + detail2[1]) / 2, (detail2[0] - detail2[1]) / 2},
          m[32]};
}

// Solves Pairs8's equations for halves of S and D, with the halves of D in E.
Pairs8 inverse_parts(const Pairs8& k) {
  return {1 / (8 * k.mean),
          {1 / (8 * k.detail3[0]), k.detail3[1] / (4 * k.detail3[0])},
          {1 / (4 * k.detail2[0]), k.detail2[1] / (2 * k.detail2[0])},
          1 / (2 * k.detail1)};
}

}  // namespace

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
  } else if (patch == 8) {
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
