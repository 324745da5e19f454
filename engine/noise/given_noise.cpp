// SPDX-License-Identifier: MIT
#include "given_noise.h"

#include <algorithm>

#include "clip_curve.h"
#include "impulses.h"

namespace grainless {

Params measuring_params(const Params& params) {
  if (params.auto_sigma) return params;
  Params measuring = params;
  measuring.auto_sigma = true;
  measuring.noise = static_cast<int32_t>(NoiseKind::kSure);
  return measuring;
}

NoiseModel given_noise(const Params& params, const PictureNoise& measured) {
  NoiseModel noise = white_noise(measured.channels, static_cast<float>(params.sigma));
  noise.range = measured.range;
  if (asks_for_impulses(params)) noise.impulses = measured.impulses;
  if (!surely_white(measured) || measured.bend.enabled != 0 || measured.corners.enabled != 0) {
    return noise;
  }
  noise.bend.clip = given_clip(measured.bend.clip, colour_sigma(measured), params.sigma);
  return noise;
}

// As a lower strength is (clip_for() of make_plan.h).
ClipCurve given_clip(const ClipCurve& curve, double measured, double given) {
  if (curve.step <= 0 || measured <= 0) return {};
  const double removed = std::min(1.0, given / measured);
  return part_of(curve, removed * removed, removed * removed);
}

}  // namespace grainless
