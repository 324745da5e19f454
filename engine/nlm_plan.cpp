// SPDX-License-Identifier: MIT
#include "nlm_plan.h"

#include <cmath>

#include "match_scale.h"

namespace grainless {
namespace {

// Search window sides by quality; high averages whole patches. Larger windows gain nothing on white
// noise (Set12 at sigma 25, patch-wise: 21 29.11 dB, 25 29.06): more pixels look alike by chance.
constexpr int32_t kSearch[3] = {11, 21, 21};

// What of a mean squared difference, in noise variances, is taken off before it counts, and 1 / h^2
// in them.
struct Curve {
  double noise, decay;
};

Curve curve_of(const Params& params, int32_t voxels, bool colour, bool patchwise) {
  // h^2 = 2 beta sigma^2 |V| of the sum over a patch V's values (Coupe et al. 2008, Palma et al.
  // 2013), with beta = 1; strength, which sigma is multiplied by, is the root of any other.
  if (params.weights == static_cast<int32_t>(WeightRule::kClassic)) return {0.0, 0.5};
  const double h = nlm_h(voxels, colour, patchwise);
  return {2.0, 1.0 / (h * h)};
}

// Match values a sigma. The classic weights reach some five times as far: half of them keep the
// sums that get any weight below 2^24, where float is exact (cuda/volume.cu).
double match_unit(const Params& params) {
  return params.weights == static_cast<int32_t>(WeightRule::kClassic) ? 16.0 : 32.0;
}

NlmWeight make_weight(double strength, double norm, const Curve& curve) {
  NlmWeight weight{};
  if (strength <= 0) return weight;
  weight.enabled = 1;
  weight.gain = static_cast<float>(norm / (strength * strength));
  weight.noise = static_cast<float>(curve.noise);
  weight.decay = static_cast<float>(curve.decay);
  return weight;
}

// Patch side by noise, tuned on Set12 and every sixth picture of Kodak24 with white noise of sigma
// 5..100 (best PSNR within 0.1 dB; a colour patch holds three times the evidence). More noise never
// means a smaller patch, and a larger one never removes less.
int32_t nlm_patch(double sigma, bool colour, bool patchwise) {
  if (colour && patchwise) return sigma <= 30 ? 3 : sigma <= 50 ? 5 : 7;
  if (colour) return sigma <= 45 ? 3 : sigma <= 70 ? 5 : 7;
  if (patchwise) return sigma <= 12 ? 3 : sigma <= 23 ? 5 : sigma <= 35 ? 7 : sigma <= 60 ? 9 : 11;
  return sigma <= 20 ? 3 : sigma <= 33 ? 5 : sigma <= 60 ? 7 : 9;
}

}  // namespace

// The spread of a patch distance, and with it the best h, falls with the root of the number of
// voxels. On planes the best h found by the tuning of nlm_patch is this within 0.05 from sides 3 to
// 9; it does not depend on sigma, so that for one patch every weight rises with strength.
double nlm_h(int32_t voxels, bool colour, bool patchwise) {
  return (colour ? 1.0 : 1.45) * (patchwise ? 0.86 : 1.0) / std::sqrt(std::sqrt(1.0 * voxels));
}

void set_nlm_weights(NlmPlan& nlm, const Params& params, const double* noise, int32_t channels,
                     int32_t voxels) {
  const bool colour = channels == 3;
  const double largest = largest_match_scale(1.0 * voxels * channels);
  const double unit = set_match_planes(nlm.match_centre, nlm.match_scale, match_unit(params),
                                       largest, noise, channels);
  const double norm = 1.0 / (1.0 * voxels * channels * unit * unit);
  const Curve curve = curve_of(params, voxels, colour, nlm.patchwise != 0);
  // strength * luma and strength * chroma scale the sigma that the weights expect.
  nlm.luma = make_weight(params.strength * params.luma / 1e4, norm, curve);
  nlm.chroma = colour ? make_weight(params.strength * params.chroma / 1e4, norm, curve) : nlm.luma;
  nlm.joint = !colour || params.luma == params.chroma ? 1 : 0;
}

NlmPlan make_nlm(const Params& params, const double* noise, int32_t channels) {
  NlmPlan nlm{};
  nlm.patchwise = params.quality == static_cast<int32_t>(Quality::kHigh) ? 1 : 0;
  nlm.patch = params.patch != 0
                  ? params.patch
                  : nlm_patch(noise[0] * params.strength / 100, channels == 3, nlm.patchwise != 0);
  nlm.radius = (params.search != 0 ? params.search : kSearch[params.quality]) / 2;
  nlm.centre = params.centre;
  set_nlm_weights(nlm, params, noise, channels, nlm.patch * nlm.patch);
  return nlm;
}

}  // namespace grainless
