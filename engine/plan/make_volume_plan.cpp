// SPDX-License-Identifier: MIT
#include "make_volume_plan.h"

#include <algorithm>

#include "make_plan.h"
#include "nlm_plan.h"

namespace grainless {
namespace {

constexpr int32_t kSearch = 11;       // Palma et al.'s smaller box
constexpr double kLargePatch = 30.0;  // sigma from which patches of 5 voxels a side pay

}  // namespace

VolumePlan make_volume_plan(const Params& params, int32_t depth, int32_t channels,
                            const NoiseModel& noise) {
  VolumePlan plan{};
  NlmPlan& nlm = plan.nlm;
  double measured[kMaxChannels] = {};
  // One sigma for tones of different noise: that of where most of the noise is. The flattest
  // blocks' alone leaves the noisier tones as they are.
  for (int32_t c = 0; c < channels; ++c) measured[c] = noise.sigma[0][c] * noise.stack.unevenness;
  const MatchSpan span = match_span(noise);
  const double sigma = measured[0] * params.strength / 100 / span.unit;
  nlm.patch = params.patch != 0 ? params.patch : sigma <= kLargePatch ? 3 : 5;
  nlm.radius = (params.search != 0 ? params.search : kSearch) / 2;
  nlm.centre = nlm_centre(params, span, NlmNoise::kWhite, measured[0], false);
  plan.depth = depth;
  plan.layers = std::min(nlm.patch, 2 * depth + 1);
  const Params audible = audible_params(params, measured, channels);
  const int32_t voxels = nlm.patch * nlm.patch * plan.layers;
  const int32_t compared = compared_channels(noise, channels);
  set_nlm_weights(nlm, audible, {span, NlmNoise::kWhite, measured, channels, compared}, voxels);
  plan.valid = valid_range(span);
  const double fineness = match_fineness(nlm.match, measured, compared, kLeastNlmUnit);
  if (!span.usual && fineness < 1) {
    const MatchSpan cut = span.cut_to(span.half() * fineness, noise.range.middle);
    set_nlm_weights(nlm, audible, {cut, NlmNoise::kWhite, measured, channels, compared}, voxels);
    plan.valid = valid_range(cut);
  }
  return plan;
}

}  // namespace grainless
