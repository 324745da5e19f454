// SPDX-License-Identifier: MIT
// The ridge filter of a group (engine/boundary/plan.h: GroupRule::kRidge). Everything lies
// transposed, a pixel of all patches after the other, in rows of kMaxGroup floats: vectors run
// along the group. As in filter.cpp the order of sums does not depend on the width of a vector.
#include <algorithm>

#include "filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/bm3d/ridge.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DGroup = hn::CappedTag<float, 16>;

HWY_INLINE int32_t lanes() {
  return static_cast<int32_t>(hn::Lanes(DGroup()));
}

// The patches' pixels of one channel less their mean, from values less `base`; the padding is 0.
HWY_INLINE void gather(const Planes& plane, int32_t c, const PatchGroup& group, int32_t patch,
                       float base, float* HWY_RESTRICT out) {
  const int32_t pixels = patch * patch;
  std::fill_n(out, pixels * kMaxGroup, 0.0f);
  for (int32_t i = 0; i < group.count; ++i) {
    const float* in = plane.at(c, group.x[i], group.y[i]);
    float* to = out + i;
    for (int32_t y = 0; y < patch; ++y, in += plane.stride()) {
      for (int32_t x = 0; x < patch; ++x, to += kMaxGroup) *to = in[x] - base;
    }
  }
  float sums[kMaxGroup] = {}, mean = 0;
  for (int32_t p = 0; p < pixels; ++p) {
    for (int32_t i = 0; i < kMaxGroup; ++i) sums[i] += out[p * kMaxGroup + i];
  }
  for (float sum : sums) mean += sum;
  mean /= static_cast<float>(pixels * group.count);
  for (int32_t i = 0; i < kMaxGroup; ++i) sums[i] = i < group.count ? mean : 0.0f;
  for (int32_t p = 0; p < pixels; ++p) {
    for (int32_t i = 0; i < kMaxGroup; ++i) out[p * kMaxGroup + i] -= sums[i];
  }
}

// Floats from one term of a sum to the next, and from one row of sums to the next.
struct Steps {
  int32_t term, row;
};

// out rows i..i+3 = sum over p of a[p * steps.term + (i..i+3) * steps.row] times row p of b;
// `count` columns.
HWY_INLINE void four_rows(const float* HWY_RESTRICT a, Steps steps, const float* HWY_RESTRICT b,
                          int32_t terms, int32_t count, float* HWY_RESTRICT out) {
  const DGroup d;
  for (int32_t j = 0; j < count; j += lanes()) {
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    for (int32_t p = 0; p < terms; ++p) {
      const float* left = a + p * steps.term;
      const auto right = hn::Load(d, b + p * kMaxGroup + j);
      s0 = hn::Add(s0, hn::Mul(hn::Set(d, left[0]), right));
      s1 = hn::Add(s1, hn::Mul(hn::Set(d, left[steps.row]), right));
      s2 = hn::Add(s2, hn::Mul(hn::Set(d, left[2 * steps.row]), right));
      s3 = hn::Add(s3, hn::Mul(hn::Set(d, left[3 * steps.row]), right));
    }
    hn::Store(s0, d, out + j);
    hn::Store(s1, d, out + kMaxGroup + j);
    hn::Store(s2, d, out + 2 * kMaxGroup + j);
    hn::Store(s3, d, out + 3 * kMaxGroup + j);
  }
}

// matrix becomes minus its inverse, by symmetric sweeps of all its pivots; it is positive definite
// with no eigenvalue under `least`.
HWY_INLINE void invert(float* HWY_RESTRICT matrix, int32_t count, float least) {
  const DGroup d;
  alignas(64) float row[kMaxGroup];
  for (int32_t p = 0; p < count; ++p) {
    float* pivot_row = matrix + p * kMaxGroup;
    std::copy_n(pivot_row, kMaxGroup, row);
    std::fill_n(pivot_row, kMaxGroup, 0.0f);
    const float r = 1.0f / std::max(row[p], least);
    for (int32_t i = 0; i < count; ++i) {
      float* at = matrix + i * kMaxGroup;
      const float factor = i == p ? -r : row[i] * r;
      const auto f = hn::Set(d, factor);
      for (int32_t j = 0; j < count; j += lanes()) {
        hn::Store(hn::Sub(hn::Load(d, at + j), hn::Mul(f, hn::Load(d, row + j))), d, at + j);
      }
      at[p] = factor;
    }
  }
}

// The weights of the patches in the aggregation, from minus the inverse times n v.
HWY_INLINE void weigh(const float* HWY_RESTRICT inverse, int32_t count, int32_t pixels,
                      float* HWY_RESTRICT weights) {
  for (int32_t i = 0; i < count; ++i) {
    float sum = 1.0f / static_cast<float>(count * pixels);
    for (int32_t j = 0; j < count; ++j) {
      const float t = inverse[i * kMaxGroup + j] + (i == j ? 1.0f : 0.0f);
      sum += t * t;
    }
    weights[i] = 1.0f / std::min(std::max(sum, 1.0f / static_cast<float>(count)), 1.0f);
  }
}

// `removed` is n v (X X' + ridge 1)^-1 Y with its sign turned.
HWY_INLINE void add_patch(const FilterTables& tables, const float* HWY_RESTRICT removed,
                          float weight, const PatchPlace& at, Aggregate& out) {
  const int32_t side = tables.patch;
  const ptrdiff_t stride = out.removed.stride();
  float* HWY_RESTRICT sum = out.removed.at(at.c, at.x, at.y);
  for (int32_t row = 0; row < side; ++row, sum += stride) {
    const float* window = tables.window + row * tables.stride;
    for (int32_t i = 0; i < side; ++i, removed += kMaxGroup) {
      sum[i] -= weight * window[i] * *removed;
    }
  }
  *out.weight.at(at.c, at.x, at.y) += weight;
}

// The noise variance of a group, whose reference is its first patch.
HWY_INLINE float variance_of(const GroupFilter& filter, const PatchGroup& group, int32_t c) {
  const float variance = filter.stage->shrink[c];
  if (filter.share == nullptr) return variance;
  const int32_t middle = filter.tables->patch / 2;
  const float share = *filter.share->at(c, group.x[0] + middle, group.y[0] + middle);
  return variance * share * share;
}

void filter_ridge(const GroupFilter& filter, const PatchGroup& group, int32_t c) {
  const DGroup d;
  const FilterTables& tables = *filter.tables;
  const int32_t pixels = tables.patch * tables.patch, count = group.count;
  float* noisy = filter.scratch->noisy;
  float* pilot = filter.scratch->pilot;
  float* matrix = filter.scratch->matrix;
  const float base = *filter.pilot->at(c, group.x[0], group.y[0]);
  const float nv = static_cast<float>(pixels) * variance_of(filter, group, c);
  gather(*filter.noisy, c, group, tables.patch, base, noisy);
  gather(*filter.pilot, c, group, tables.patch, base, pilot);
  for (int32_t i = 0; i < count; i += 4) {
    four_rows(pilot + i, {kMaxGroup, 1}, pilot, pixels, count, matrix + i * kMaxGroup);
  }
  float energy = 0;
  for (int32_t i = 0; i < count; ++i) energy += matrix[i * (kMaxGroup + 1)];
  const float ridge = ridge_of(nv, energy);
  for (int32_t i = 0; i < count; ++i) matrix[i * (kMaxGroup + 1)] += ridge;
  // Energies beyond float's range: nothing is removed.
  if (!(energy <= kMostRidgeEnergy))
    std::fill_n(matrix, kMaxGroup * kMaxGroup, 0.0f);
  else
    invert(matrix, count, ridge);
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = 0; j < count; j += lanes()) {
      float* at = matrix + i * kMaxGroup + j;
      hn::Store(hn::Mul(hn::Set(d, nv), hn::Load(d, at)), d, at);
    }
  }
  float weights[kMaxGroup];
  weigh(matrix, count, pixels, weights);
  // The pilot's place takes what is removed, rows of pixels.
  for (int32_t p = 0; p < pixels; p += 4) {
    four_rows(noisy + p * kMaxGroup, {1, kMaxGroup}, matrix, count, count, pilot + p * kMaxGroup);
  }
  for (int32_t i = 0; i < count; ++i) {
    if (!filter.out->takes(group.x[i], group.y[i], tables.patch)) continue;
    add_patch(tables, pilot + i, weights[i], {c, group.x[i], group.y[i]}, *filter.out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {

HWY_EXPORT(filter_ridge);

void ridge_group(const GroupFilter& filter, const PatchGroup& group, int32_t c) {
  HWY_DYNAMIC_DISPATCH(filter_ridge)(filter, group, c);
}

}  // namespace grainless
#endif  // HWY_ONCE
