// SPDX-License-Identifier: MIT
// The ridge filter of a group (engine/boundary/plan.h: GroupRule::kRidge). Patches are rows, pixel
// after pixel, of a multiple of 16 floats; for the product of the pilot's patches with each other
// they lie turned, patch beside patch. As in filter.cpp the order of sums does not depend on the
// width of a vector.
#include <algorithm>

#include "filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/bm3d/ridge.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridge_matrix-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

// The sides of patches: kSide, or any (0).
template <int32_t kSide>
struct PatchShape {
  int32_t any_side;

  HWY_INLINE int32_t side() const { return kSide > 0 ? kSide : any_side; }
  HWY_INLINE int32_t pixels() const { return side() * side(); }
  HWY_INLINE int32_t floats() const { return rounded_up(pixels(), 16); }
};

// out[x] = in[x] - base of a patch's row.
HWY_INLINE void copy_row(const float* HWY_RESTRICT in, float base, int32_t side,
                         float* HWY_RESTRICT out) {
#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
  if (side >= 4) {
    const DQuad d;
    const auto bases = hn::Set(d, base);
    const auto copy = [&](int32_t x) HWY_ATTR {
      hn::StoreU(hn::Sub(hn::LoadU(d, in + x), bases), d, out + x);
    };
    for (int32_t x = 0; x + 4 < side; x += 4) copy(x);
    copy(side - 4);  // with some of those before
    return;
  }
#endif
  for (int32_t x = 0; x < side; ++x) out[x] = in[x] - base;
}

// The patches' pixels of one channel less `base`.
template <int32_t kSide>
HWY_INLINE void copy_patches(const PatchShape<kSide>& shape, const Planes& plane, int32_t c,
                             const PatchGroup& group, float base, const Rows& out) {
  const int32_t side = shape.side();
  for (int32_t i = 0; i < group.count; ++i) {
    const float* in = plane.at(c, group.x[i], group.y[i]);
    float* to = out.row(i);
    std::fill(to + shape.pixels(), to + shape.floats(), 0.0f);
    for (int32_t y = 0; y < side; ++y, in += plane.stride(), to += side) {
      copy_row(in, base, side, to);
    }
  }
}

// Of `count` rows of so many floats, of which the padding is 0.
HWY_INLINE float sum_of(const Rows& rows, int32_t count, int32_t floats) {
  const DGroup d;
  HWY_ALIGN float sums[16] = {};
  for (int32_t p = 0; p < floats; p += lanes()) {
    auto sum = hn::Load(d, sums + p % 16);
    for (int32_t i = 0; i < count; ++i) sum = hn::Add(sum, hn::Load(d, rows.row(i) + p));
    hn::Store(sum, d, sums + p % 16);
  }
  for (int32_t half = 8; half >= 1; half /= 2) {
    for (int32_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

// The patches less `base`, which is one pixel's value, and what is left of their mean.
template <int32_t kSide>
HWY_INLINE void gather(const PatchShape<kSide>& shape, const Planes& plane, int32_t c,
                       const PatchGroup& group, float base, const Rows& out) {
  const DGroup d;
  copy_patches(shape, plane, c, group, base, out);
  const float sum = sum_of(out, group.count, shape.floats());
  const auto mean = hn::Set(d, sum / static_cast<float>(shape.pixels() * group.count));
  for (int32_t i = 0; i < group.count; ++i) {
    float* row = out.row(i);
    for (int32_t p = 0; p < shape.pixels(); p += lanes()) {
      hn::Store(hn::Sub(hn::Load(d, row + p), mean), d, row + p);
    }
  }
}

// Row p of `out` gets the patches' pixels p, and zeros to a whole vector.
HWY_INLINE void turn_patches(const Rows& patches, int32_t count, int32_t pixels, const Rows& out) {
  const int32_t whole = rounded_up(count, 4), columns = rounded_up(count, lanes());
  for (int32_t i = count; i < whole; ++i) std::fill_n(patches.row(i), rounded_up(pixels, 4), 0.0f);
  for (int32_t i = 0; i < whole; i += 4) {
    for (int32_t p = 0; p < pixels; p += 4) {
      turn_tile(patches.row(i) + p, patches.stride, out.row(p) + i, out.stride);
    }
  }
  if (whole == columns) return;
  for (int32_t p = 0; p < pixels; ++p) std::fill(out.row(p) + whole, out.row(p) + columns, 0.0f);
}

// n v (X X' + ridge 1)^-1 with its sign turned. Energies beyond float's range: nothing is removed.
HWY_INLINE void removed_share(const Rows& turned, int32_t pixels, int32_t count, float nv,
                              const Rows& out) {
  const DGroup d;
  const int32_t whole = rounded_up(count, 4), columns = rounded_up(count, lanes());
  gram(turned, pixels, count, out);
  float energy = 0;
  for (int32_t i = 0; i < count; ++i) energy += out.row(i)[i];
  const float ridge = ridge_of(nv, energy);
  for (int32_t i = 0; i < count; ++i) out.row(i)[i] += ridge;
  for (int32_t i = count; i < whole; ++i) out.row(i)[i] = 1;  // nobody's, but no zero
  if (!(energy <= kMostRidgeEnergy)) {
    for (int32_t i = 0; i < whole; ++i) std::fill_n(out.row(i), columns, 0.0f);
    return;
  }
  invert(out, whole, ridge);
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = 0; j < columns; j += lanes()) {
      float* at = out.row(i) + j;
      hn::Store(hn::Mul(hn::Set(d, nv), hn::Load(d, at)), d, at);
    }
  }
}

// The weights of the patches in the aggregation, from what removed_share() says; whole vectors of
// them.
HWY_INLINE void weigh(const Rows& removed, int32_t count, int32_t pixels,
                      float* HWY_RESTRICT weights) {
  const DGroup d;
  float diagonal[kMaxGroup];
  for (int32_t i = 0; i < count; ++i) {
    diagonal[i] = removed.row(i)[i];
    removed.row(i)[i] += 1;
  }
  const auto least = hn::Set(d, 1.0f / static_cast<float>(count)), one = hn::Set(d, 1.0f);
  for (int32_t j = 0; j < count; j += lanes()) {
    auto sum = hn::Set(d, 1.0f / static_cast<float>(count * pixels));
    for (int32_t i = 0; i < count; ++i) {
      const auto kept = hn::Load(d, removed.row(i) + j);
      sum = hn::Add(sum, hn::Mul(kept, kept));
    }
    hn::Store(hn::Div(one, hn::Min(hn::Max(sum, least), one)), d, weights + j);
  }
  for (int32_t i = 0; i < count; ++i) removed.row(i)[i] = diagonal[i];
}

// sum[x] - weight * window[x] * removed[x] of a patch's row.
HWY_INLINE void add_row(float weight, const float* HWY_RESTRICT window,
                        const float* HWY_RESTRICT removed, int32_t side, float* sum) {
#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
  if (side >= 4) {
    const DQuad d;
    const auto weights = hn::Set(d, weight);
    const auto added = [&](int32_t x) HWY_ATTR {
      const auto share = hn::Mul(weights, hn::LoadU(d, window + x));
      return hn::Sub(hn::LoadU(d, sum + x), hn::Mul(share, hn::LoadU(d, removed + x)));
    };
    // Read before those are stored that it shares.
    const auto last = added(side - 4);
    for (int32_t x = 0; x + 4 < side; x += 4) hn::StoreU(added(x), d, sum + x);
    hn::StoreU(last, d, sum + side - 4);
    return;
  }
#endif
  for (int32_t x = 0; x < side; ++x) sum[x] -= weight * window[x] * removed[x];
}

// `removed` has its sign turned.
template <int32_t kSide>
HWY_INLINE void add_patch(const PatchShape<kSide>& shape, const FilterTables& tables,
                          const float* HWY_RESTRICT removed, float weight, const PatchPlace& at,
                          Aggregate& out) {
  const int32_t side = shape.side();
  const ptrdiff_t stride = out.removed.stride();
  float* sum = out.removed.at(at.c, at.x, at.y);
  for (int32_t y = 0; y < side; ++y, sum += stride, removed += side) {
    add_row(weight, tables.window + y * tables.stride, removed, side, sum);
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

template <int32_t kSide>
HWY_INLINE void filter_shape(const PatchShape<kSide>& shape, const GroupFilter& filter,
                             const PatchGroup& group, int32_t c) {
  FilterScratch& scratch = *filter.scratch;
  const int32_t pixels = shape.pixels(), count = group.count;
  const Rows noisy{scratch.noisy, shape.floats()}, pilot{scratch.pilot, shape.floats()};
  const Rows turned{scratch.turned, kMaxGroup}, matrix{scratch.matrix, kMaxGroup};
  const float base = *filter.pilot->at(c, group.x[0], group.y[0]);
  gather(shape, *filter.noisy, c, group, base, noisy);
  gather(shape, *filter.pilot, c, group, base, pilot);
  turn_patches(pilot, count, pixels, turned);
  const float nv = static_cast<float>(pixels) * variance_of(filter, group, c);
  removed_share(turned, pixels, count, nv, matrix);
  alignas(64) float weights[kMaxGroup];
  weigh(matrix, count, pixels, weights);
  const Rows& removed = pilot;  // in its place
  for (int32_t i = 0; i < count; i += 4) {
    four_rows(matrix, noisy, count, i, 0, rounded_up(pixels, lanes()), removed);
  }
  for (int32_t i = 0; i < count; ++i) {
    if (!filter.out->takes(group.x[i], group.y[i], shape.side())) continue;
    const PatchPlace place{c, group.x[i], group.y[i]};
    add_patch(shape, *filter.tables, removed.row(i), weights[i], place, *filter.out);
  }
}

void filter_ridge(const GroupFilter& filter, const PatchGroup& group, int32_t c) {
  switch (filter.tables->patch) {
    case 5:
      return filter_shape(PatchShape<5>{}, filter, group, c);
    case 6:
      return filter_shape(PatchShape<6>{}, filter, group, c);
    case 7:
      return filter_shape(PatchShape<7>{}, filter, group, c);
    default:
      return filter_shape(PatchShape<0>{filter.tables->patch}, filter, group, c);
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
