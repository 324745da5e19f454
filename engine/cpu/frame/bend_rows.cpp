// SPDX-License-Identifier: MIT
#include "bend_rows.h"

#include "engine/boundary/pixel_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/frame/bend_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls change(d, values) for vectors of the row, and for what is left of it.
template <typename Change>
HWY_INLINE void over_row(float* HWY_RESTRICT values, int32_t count, const Change& change) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int32_t>(hn::Lanes(d));
  int32_t x = 0;
  for (; x + lanes <= count; x += lanes) {
    hn::StoreU(change(d, hn::LoadU(d, values + x)), d, values + x);
  }
  const hn::CappedTag<float, 1> one;
  for (; x < count; ++x) {
    hn::StoreU(change(one, hn::LoadU(one, values + x)), one, values + x);
  }
}

// base + (value - start) * slope, of each lane's piece of a curve.
template <class D, class V>
HWY_INLINE V on_piece(D, V base, V value, V start, V slope) {
  return hn::Add(base, hn::Mul(hn::Sub(value, start), slope));
}

void bend_values(const BendPieces& pieces, float* HWY_RESTRICT values, int32_t count) {
  over_row(values, count, [&](auto d, auto value) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto at = hn::Div(value, hn::Set(d, kBendStep));
    const auto most = hn::Set(d, kBendSegments - 1.0f);
    const auto up = hn::IfThenElse(hn::Lt(at, most), at, most);
    const auto i = hn::ConvertTo(di, hn::IfThenElseZero(hn::Gt(at, hn::Zero(d)), up));
    const auto start = hn::Mul(hn::ConvertTo(d, i), hn::Set(d, kBendStep));
    return on_piece(d, hn::GatherIndex(d, pieces.bend.to, i), value, start,
                    hn::GatherIndex(d, pieces.slope, i));
  });
}

template <class D, class V>
HWY_INLINE V unbent_values(D d, const BendPieces& pieces, V value) {
  const hn::RebindToSigned<D> di;
  auto i = hn::Zero(di);
  for (int32_t half = kBendSegments / 2; half > 0; half /= 2) {
    const auto next = hn::Add(i, hn::Set(di, half));
    const auto reached = hn::Le(hn::GatherIndex(d, pieces.bend.to, next), value);
    i = hn::IfThenElse(hn::RebindMask(di, reached), next, i);
  }
  const auto base = hn::Mul(hn::ConvertTo(d, i), hn::Set(d, kBendStep));
  return on_piece(d, base, value, hn::GatherIndex(d, pieces.bend.to, i),
                  hn::GatherIndex(d, pieces.slope_back, i));
}

template <class D, class V>
HWY_INLINE V unclipped_values(D d, const ClipCurve& curve, V value) {
  const hn::RebindToSigned<D> di;
  const auto inside =
      hn::And(hn::Gt(value, hn::Zero(d)), hn::Lt(value, hn::Set(d, kClipSegments * curve.step)));
  const auto at = hn::IfThenElseZero(inside, hn::Div(value, hn::Set(d, curve.step)));
  const auto i = hn::ConvertTo(di, at);
  const auto from = hn::GatherIndex(d, curve.to, i);
  const auto to = hn::GatherIndex(d, curve.to + 1, i);
  const auto back = on_piece(d, from, at, hn::ConvertTo(d, i), hn::Sub(to, from));
  return hn::IfThenElse(inside, back, value);
}

void bend_values_back(const BendPieces& pieces, float* HWY_RESTRICT values, int32_t count) {
  const ClipCurve& clip = pieces.bend.clip;
  over_row(values, count, [&](auto d, auto value) HWY_ATTR {
    const auto back = unbent_values(d, pieces, value);
    return clip.step > 0 ? unclipped_values(d, clip, back) : back;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {

HWY_EXPORT(bend_values);
HWY_EXPORT(bend_values_back);

BendPieces::BendPieces(const ToneBend& curve) : bend(curve) {
  for (int32_t i = 0; i < kBendSegments; ++i) {
    slope[i] = (bend.to[i + 1] - bend.to[i]) / kBendStep;
    slope_back[i] = kBendStep / (bend.to[i + 1] - bend.to[i]);
  }
}

void bend_row(const BendPieces& pieces, float* values, int32_t count) {
  HWY_DYNAMIC_DISPATCH(bend_values)(pieces, values, count);
}

void bend_row_back(const BendPieces& pieces, float* values, int32_t count) {
  HWY_DYNAMIC_DISPATCH(bend_values_back)(pieces, values, count);
}

}  // namespace grainless
#endif  // HWY_ONCE
