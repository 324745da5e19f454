// SPDX-License-Identifier: MIT
#include "volume_plan.h"

#include <algorithm>
#include <cmath>

#include "pixel_math.h"

namespace grainless {
namespace {

constexpr int32_t kSearch = 11;       // Palma et al.'s smaller box
constexpr double kLargePatch = 30.0;  // sigma from which patches of 5 voxels a side pay

NlmWeight weight_of(double strength, double norm, double h) {
  NlmWeight weight{};
  if (strength <= 0) return weight;
  weight.enabled = 1;
  weight.gain = static_cast<float>(norm / (strength * strength));
  weight.decay = static_cast<float>(1 / (h * h));
  return weight;
}

// All channels get the same quantum a sigma, and a patch's sum of squares stays under 2^30.
double set_matching(NlmPlan& nlm, const NoiseModel& noise, int32_t channels, double voxels) {
  double largest = 0.01, unit = 32.0, sigma[kMaxChannels] = {};
  for (int32_t c = 0; c < channels; ++c) largest = std::max(largest, double{noise.sigma[0][c]});
  const double bound = std::sqrt(std::ldexp(1.0, 30) / (voxels * channels)) / kMatchSpan;
  for (int32_t c = 0; c < channels; ++c) {
    sigma[c] = std::max(double{noise.sigma[0][c]}, largest / 4);
    unit = std::min(unit, bound * sigma[c]);
  }
  for (int32_t c = 0; c < channels; ++c) {
    nlm.match_scale[c] = static_cast<float>(unit / sigma[c]);
    nlm.match_centre[c] =
        static_cast<float>(c > 0 ? 0.0 : 127.5 * (channels == 3 ? std::sqrt(3.0) : 1.0));
  }
  return unit;
}

}  // namespace

VolumePlan make_volume_plan(const Params& params, int32_t depth, int32_t channels,
                            const NoiseModel& noise) {
  VolumePlan plan{};
  NlmPlan& nlm = plan.nlm;
  const double sigma = noise.sigma[0][0] * params.strength / 100;
  nlm.patch = params.patch != 0 ? params.patch : sigma <= kLargePatch ? 3 : 5;
  nlm.radius = (params.search != 0 ? params.search : kSearch) / 2;
  nlm.centre = params.centre;
  plan.depth = depth;
  plan.layers = std::min(nlm.patch, 2 * depth + 1);
  const double voxels = 1.0 * nlm.patch * nlm.patch * plan.layers;
  const double unit = set_matching(nlm, noise, channels, voxels);
  // The spread of a patch distance, and with it the best h, falls with the root of the number of
  // voxels: the rule of plane patches, h = 1.45 sigma / sqrt(side), at the same number.
  const double h = (channels == 3 ? 1.0 : 1.45) / std::pow(voxels, 0.25);
  const double norm = 1 / (voxels * channels * unit * unit);
  nlm.luma = weight_of(params.strength * params.luma / 1e4, norm, h);
  nlm.chroma = channels == 3 ? weight_of(params.strength * params.chroma / 1e4, norm, h) : nlm.luma;
  nlm.joint = channels == 1 || params.luma == params.chroma ? 1 : 0;
  return plan;
}

}  // namespace grainless
