// SPDX-License-Identifier: MIT
// The weight of Non-Local Means as vectors, for kernel.cpp and engine/cpu/volume/kernel.cpp.
// Included once a target.
#if defined(GRAINLESS_NLM_WEIGHT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAINLESS_NLM_WEIGHT_INL_H_
#undef GRAINLESS_NLM_WEIGHT_INL_H_
#else
#define GRAINLESS_NLM_WEIGHT_INL_H_
#endif

#include <hwy/highway.h>

#include "engine/boundary/plan.h"
#include "kernel.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kNlmPad / 4>;
using Ints = hn::RebindToSigned<Floats>;
using FloatVector = hn::Vec<Floats>;
using IntVector = hn::Vec<Ints>;

// exp(-max(D * gain - noise, 0) * decay) by base 2, 0 beyond kNlmCutoff. Relative error of the
// power of two: 1.7e-7 (polynomial fitted for least largest relative error on [-1/2, 1/2], exact at
// 0). No fused multiply-add, so that all instruction sets agree.
struct WeightCurve {
  float slope, offset, cutoff;
};

HWY_INLINE WeightCurve weight_curve(const NlmWeight& weight) {
  constexpr double kLog2e = 1.4426950408889634;
  return {static_cast<float>(weight.gain * weight.decay * kLog2e),
          static_cast<float>(double{weight.noise} * weight.decay * kLog2e),
          static_cast<float>(kNlmCutoff * kLog2e)};
}

// The power of a half that the distance weighs, where it is not negative.
HWY_INLINE FloatVector exponent_of(const WeightCurve& curve, IntVector distance) {
  const Floats df;
  return hn::Sub(hn::Mul(hn::ConvertTo(df, distance), hn::Set(df, curve.slope)),
                 hn::Set(df, curve.offset));
}

HWY_INLINE FloatVector weight_of(const WeightCurve& curve, FloatVector exponent) {
  const Floats df;
  const Ints di;
  const auto magic = hn::Set(df, 12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  // As integers, negative floats are negative, too.
  const auto t = hn::BitCast(df, hn::Max(hn::BitCast(di, exponent), hn::Zero(di)));
  const auto rounded = hn::Sub(magic, t);
  const auto f = hn::Sub(hn::Sub(magic, rounded), t);
  auto power = hn::Set(df, 0.00132647273f);
  power = hn::Add(hn::Mul(power, f), hn::Set(df, 0.00967151299f));
  power = hn::Add(hn::Mul(power, f), hn::Set(df, 0.0555073358f));
  power = hn::Add(hn::Mul(power, f), hn::Set(df, 0.240222424f));
  power = hn::Add(hn::Mul(power, f), hn::Set(df, 0.693147004f));
  power = hn::Add(hn::Mul(power, f), hn::Set(df, 1.0f));
  const auto shifted_exponent = hn::ShiftLeft<23>(hn::BitCast(di, rounded));
  const auto scaled = hn::BitCast(df, hn::Add(hn::BitCast(di, power), shifted_exponent));
  return hn::IfThenElseZero(hn::Le(t, hn::Set(df, curve.cutoff)), scaled);
}

HWY_INLINE FloatVector weight_of(const WeightCurve& curve, IntVector distance) {
  return weight_of(curve, exponent_of(curve, distance));
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#endif  // GRAINLESS_NLM_WEIGHT_INL_H_
