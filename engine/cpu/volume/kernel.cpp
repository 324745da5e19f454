// SPDX-License-Identifier: MIT
#include "kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/volume/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/cpu/nlm/weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

void columns(const int32_t* const* a, const int32_t* const* b, int32_t channels, ptrdiff_t count,
             int32_t* HWY_RESTRICT squares, int32_t* HWY_RESTRICT sums) {
  const Ints d;
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    IntVector now = hn::Zero(d);
    for (int32_t c = 0; c < channels; ++c) {
      const auto difference = hn::Sub(hn::LoadU(d, a[c] + x), hn::LoadU(d, b[c] + x));
      now = hn::Add(now, hn::Mul(difference, difference));
    }
    const auto change = hn::Sub(now, hn::LoadU(d, squares + x));
    hn::StoreU(now, d, squares + x);
    hn::StoreU(hn::Add(hn::LoadU(d, sums + x), change), d, sums + x);
  }
}

void boxes(const int32_t* HWY_RESTRICT column_sums, int32_t patch, ptrdiff_t count,
           int32_t* HWY_RESTRICT box, int32_t* HWY_RESTRICT sums) {
  const Ints d;
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    IntVector now = hn::LoadU(d, column_sums + x);
    for (int32_t k = 1; k < patch; ++k) now = hn::Add(now, hn::LoadU(d, column_sums + x + k));
    const auto change = hn::Sub(now, hn::LoadU(d, box + x));
    hn::StoreU(now, d, box + x);
    hn::StoreU(hn::Add(hn::LoadU(d, sums + x), change), d, sums + x);
  }
}

void weigh(const NlmWeight& weight, const int32_t* HWY_RESTRICT sums, ptrdiff_t count,
           float* HWY_RESTRICT weights) {
  const Floats df;
  const WeightCurve curve = weight_curve(weight);
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(df)) {
    hn::StoreU(weight_of(curve, hn::LoadU(Ints(), sums + x)), df, weights + x);
  }
}

void add(const NlmVolumeRow& row, int32_t channels, ptrdiff_t count) {
  const Floats d;
  for (ptrdiff_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto w = hn::LoadU(d, row.weights + x);
    for (int32_t c = 0; c < channels; ++c) {
      const auto other = hn::Sub(hn::LoadU(d, row.other[c] + x), hn::LoadU(d, row.own[c] + x));
      float* sum = row.difference[c] + x;
      hn::StoreU(hn::Add(hn::LoadU(d, sum), hn::Mul(w, other)), d, sum);
    }
    hn::StoreU(hn::Add(hn::LoadU(d, row.total + x), w), d, row.total + x);
    hn::StoreU(hn::Max(hn::LoadU(d, row.largest + x), w), d, row.largest + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {

HWY_EXPORT(columns);
HWY_EXPORT(boxes);
HWY_EXPORT(weigh);
HWY_EXPORT(add);

void nlm_volume_columns(const int32_t* const* a, const int32_t* const* b, int32_t channels,
                        ptrdiff_t count, int32_t* squares, int32_t* columns_sums) {
  HWY_DYNAMIC_DISPATCH(columns)(a, b, channels, count, squares, columns_sums);
}

void nlm_volume_boxes(const int32_t* column_sums, int32_t patch, ptrdiff_t count, int32_t* box,
                      int32_t* sums) {
  HWY_DYNAMIC_DISPATCH(boxes)(column_sums, patch, count, box, sums);
}

void nlm_volume_weigh(const NlmWeight& weight, const int32_t* sums, ptrdiff_t count,
                      float* weights) {
  HWY_DYNAMIC_DISPATCH(weigh)(weight, sums, count, weights);
}

void nlm_volume_add(const NlmVolumeRow& row, int32_t channels, ptrdiff_t count) {
  HWY_DYNAMIC_DISPATCH(add)(row, channels, count);
}

}  // namespace grainless
#endif  // HWY_ONCE
