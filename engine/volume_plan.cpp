// SPDX-License-Identifier: MIT
#include "volume_plan.h"

#include <algorithm>

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
  for (int32_t c = 0; c < channels; ++c) measured[c] = noise.sigma[0][c];
  const double sigma = measured[0] * params.strength / 100;
  nlm.patch = params.patch != 0 ? params.patch : sigma <= kLargePatch ? 3 : 5;
  nlm.radius = (params.search != 0 ? params.search : kSearch) / 2;
  nlm.centre = params.centre;
  plan.depth = depth;
  plan.layers = std::min(nlm.patch, 2 * depth + 1);
  set_nlm_weights(nlm, params, measured, channels, nlm.patch * nlm.patch * plan.layers);
  return plan;
}

}  // namespace grainless
