// SPDX-License-Identifier: MIT
#include "nlm_plan.h"

#include <algorithm>
#include <cmath>

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

// `extra`: what rounding to match values adds to the expectation of 2.
Curve curve_of(const Params& params, NlmNoise kind, int32_t voxels, bool colour, bool patchwise,
               double extra) {
  // h^2 = 2 beta sigma^2 |V| of the sum over a patch V's values (Coupe et al. 2008, Palma et al.
  // 2013), with beta = 1; strength, which sigma is multiplied by, is the root of any other.
  if (params.weights == static_cast<int32_t>(WeightRule::kClassic)) return {0.0, 0.5};
  const double h = nlm_h(voxels, colour, patchwise);
  const double noise = kind == NlmNoise::kCorrelated ? 0.2 : 2.0;
  return {noise + extra, 1.0 / (h * h)};
}

// Match values a sigma, where the weights expect `strength` times that, with so many terms of a
// distance: enough of what they expect, lest what differs by more rounds to the same value.
double match_unit(const Params& params, const Curve& curve, double terms, double strength) {
  // The classic weights reach some five times as far.
  const double wanted = params.weights == static_cast<int32_t>(WeightRule::kClassic) ? 16.0 : 32.0;
  constexpr double kVanishes = 0.98 * kNlmVanishes;  // and room for what rounding adds
  const double reach = curve.noise + kNlmCutoff / curve.decay;
  return std::min(wanted / std::min(strength, 1.0),
                  std::sqrt(kVanishes / (reach * terms)) / strength);
}

// What of luma's or chroma's noise the weights expect.
double strength_of(const Params& params, double share) {
  return params.strength * share / 1e4;
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
  if (patchwise) return sigma <= 12 ? 3 : sigma <= 28 ? 5 : sigma <= 35 ? 7 : sigma <= 60 ? 9 : 11;
  return sigma <= 20 ? 3 : sigma <= 33 ? 5 : sigma <= 60 ? 7 : 9;
}

// Luma and chroma of a camera's noise get weights of their own, and more strength, chroma as long
// as small colours stand out of what is taken for noise. PolyU's 20 pairs, automatic, normal, mean
// and least gain for (luma, chroma): 1, 1 in common 2.06 +0.60; 1.3, 1.3 in common 2.17 +0.66; 1.2,
// 1.5 2.19 +0.65; 1.2, 2.0 2.22 +0.68; 1.2, 2.3 2.22. RNI15's Dog, whose colour noise is five times
// as strong, loses 13 % of its small colours' contrast with 1, 23 % with 2.0. Of what may be film
// grain little is taken: Kodak 17 as JPEG keeps 40 dB instead of 37.5, PolyU's mean is 0.01 less.
// What may be texture, 97 of the crops of coarse.cpp, mean gain and what was lost in all, fast:
// times 1 -0.88 -132; 0.7 -0.42 -85; 0.5 -0.15 -54; 0.35 0.00 -33; 0.2 0.07 -18 (PolyU's of them
// 0.62, 0.59, 0.51, 0.42, 0.26).
Params params_for_correlated(const LevelRequest& request) {
  constexpr double kLuma = 1.25, kChroma = 2.2, kMostChroma = 28, kMostGrain = 2.15;
  constexpr double kOfTexture = 0.4;
  const PictureNoise& noise = request.noise;
  Params result = request.params;
  if (noise.like_grain) {
    result.strength *= std::min(1.0, kMostGrain / noise.sigma[0][0]);
  } else if (noise.channels == 3) {
    const double chroma = std::max(request.measured[1], request.measured[2]);
    if (!noise.white[0]) result.luma *= kLuma;
    if (!noise.white[1] || !noise.white[2]) {
      result.chroma *= std::clamp(kMostChroma / chroma, 1.0, kChroma);
    }
  }
  if (noise.like_texture) result.strength *= kOfTexture;
  return result;
}

// What was white when the picture was straightened or resized is taken as white noise on each
// level.
NlmNoise kind_of(const PictureNoise& noise) {
  return is_correlated(noise) && !noise.was_white ? NlmNoise::kCorrelated : NlmNoise::kWhite;
}

// Luma of edited photographs, 171 crops with noise of 0.7 to 12 on the average: times 1 +2.15 dB,
// times 0.7 +2.46, times 0.4 +2.4; as correlated noise +1.1.
Params params_for(const LevelRequest& request, NlmNoise kind) {
  constexpr double kLumaOfEdited = 0.7;
  if (kind == NlmNoise::kCorrelated) return params_for_correlated(request);
  Params params = request.params;
  if (is_correlated(request.noise)) params.luma *= kLumaOfEdited;
  return params;
}

// Whether patches tell as much as those of three noisy channels do.
bool tells_as_colour(const NlmSignal& signal) {
  return noisy_channels(signal.noise, signal.compared) == 3;
}

// Non-Local Means of pictures.
NlmPlan make_nlm(const Params& params, const NlmSignal& signal) {
  constexpr int32_t kCorrelatedPatch = 5;
  const auto& [span, kind, noise, channels, compared] = signal;
  const bool correlated = kind == NlmNoise::kCorrelated;
  NlmPlan nlm{};
  nlm.patchwise = params.quality == static_cast<int32_t>(Quality::kHigh) ||
                          (correlated && params.quality == static_cast<int32_t>(Quality::kNormal))
                      ? 1
                      : 0;
  const double sigma = noise[0] * params.strength / 100 / span.unit;
  nlm.patch = params.patch != 0 ? params.patch
              : correlated      ? kCorrelatedPatch
                                : nlm_patch(sigma, tells_as_colour(signal), nlm.patchwise != 0);
  nlm.radius = (params.search != 0 ? params.search : kSearch[params.quality]) / 2;
  nlm.centre = nlm_centre(params, span, kind, noise[0], nlm.patchwise != 0);
  set_nlm_weights(nlm, params, signal, nlm.patch * nlm.patch);
  return nlm;
}

}  // namespace

// The spread of a patch distance, and with it the best h, falls with the root of the number of
// voxels. On planes the best h found by the tuning of nlm_patch is this within 0.05 from sides 3 to
// 9; it does not depend on sigma, so that for one patch every weight rises with strength.
double nlm_h(int32_t voxels, bool colour, bool patchwise) {
  return (colour ? 1.0 : 1.45) * (patchwise ? 0.86 : 1.0) / std::sqrt(std::sqrt(1.0 * voxels));
}

void set_nlm_weights(NlmPlan& nlm, const Params& params, const NlmSignal& signal, int32_t voxels) {
  const auto& [span, kind, noise, channels, compared] = signal;
  const bool colour = channels == 3;
  const double terms = 1.0 * voxels * noisy_channels(noise, compared);
  const auto curve = [&](double extra) {
    return curve_of(params, kind, voxels, tells_as_colour(signal), nlm.patchwise != 0, extra);
  };
  const double luma = strength_of(params, params.luma);
  const double chroma = colour ? strength_of(params, params.chroma) : luma;
  const double unit = set_match_planes(
      nlm.match, span, match_unit(params, curve(0), terms, std::max(luma, chroma)),
      largest_match_scale(span, colour, 1.0 * voxels * channels), noise, channels, compared);
  const double norm = 1.0 / (terms * unit * unit);
  const Curve rounded = curve(span.usual ? 0.0 : 1 / (6 * unit * unit));
  nlm.luma = make_weight(luma, norm, rounded);
  nlm.chroma = make_weight(chroma, norm, rounded);
  nlm.joint = !colour || params.luma == params.chroma ? 1 : 0;
}

// As much as its closest look-alike, and (reach / sigma)^2 more: at weak noise a pixel may have
// none, and the least unlike one must not get half of it. 144 x 144 from the middles of twelve of
// Kodak24's as grey, gain and least gain in dB; own: what is added.
//   sigma 1   own 0 -4.04 -5.91   0.05 +0.12 -0.20   0.3 +0.22 -0.02   8 +0.24 -0.00
//   sigma 3                       0.05 +1.69 -0.17   0.3 +1.77  0.00
//   sigma 5   own 0 +1.20 -3.19   0.05 +2.80 -0.05   0.3 +2.88 +0.18
//   sigma 10  own 0 +4.28 +0.44   0.05 +4.63 +1.19   0.2 +4.68 +1.30
// Patch-wise, weights are smaller and other patches help: sigma 5 0.05 +3.12, 0.3 +3.04; in colour
// 3.24 and 3.02; sigma 10 in colour 0 +5.96, 0.05 +5.65; Set12 at 15 0 30.93 dB, 0.005 30.91, 0.05
// 30.73, at 25 0.002 +0.04 over 0. Correlated noise has look-alikes everywhere (PolyU +2.10
// without, +2.03 with 0.3 for the reach), but texture beside it need not, and what weighs exp(-12)
// or, patch-wise, exp(-23) is none. Mean gain of 384 x 384 of PolyU's pairs and of 12 of simulated
// cameras, and the least PSNR of ten clean photographs as JPEG 10 to 50 to what they were:
//   fast    own 0 +1.84 +2.02 31.4  1e-8 +1.91 +2.36 37.1  1e-6 +1.90 +2.40 38.5
//           1e-4 +1.89 +2.45 40.5   1e-2 +1.85
//   normal  own 0 +2.08 +2.52 33.3  1e-12 +2.09 +2.72 39.3  1e-10 +2.08 +2.71 40.1
//           1e-8 +2.07 +2.70 41.1   1e-6 +2.04
CentreWeight nlm_centre(const Params& params, const MatchSpan& span, NlmNoise kind, double sigma,
                        bool patchwise) {
  constexpr double kLeast = 0.05, kReach = 3.0, kPatchwiseReach = 1.0;
  constexpr float kOwn = 1e-5f, kPatchwiseOwn = 1e-10f;  // of correlated noise
  const Centre rule = static_cast<Centre>(params.centre);
  if (rule != Centre::kAuto) {
    return {rule == Centre::kOne ? 1.0f : 0.0f, rule == Centre::kMax ? 1.0f : 0.0f};
  }
  const double removed = std::max(sigma * params.strength / 100 / span.unit, kLeast);
  if (kind == NlmNoise::kCorrelated) return {patchwise ? kPatchwiseOwn : kOwn, 1.0f};
  const double own = (patchwise ? kPatchwiseReach : kReach) / removed;
  return {static_cast<float>(own * own), 1.0f};
}

double set_nlm_level(LevelPlan& level, const LevelRequest& request) {
  const NlmNoise kind = kind_of(request.noise);
  const Params params = params_for(request, kind);
  const int32_t compared = compared_channels(request.noise, request.channels);
  level.nlm = make_nlm(params, {request.span, kind, request.measured, request.channels, compared});
  const int32_t patch = level.nlm.patch;
  level.reach = level.nlm.radius + (level.nlm.patchwise != 0 ? patch - 1 : patch / 2);
  return match_fineness(level.nlm.match, request.measured, compared,
                        request.least_unit(kLeastNlmUnit));
}

int32_t nlm_smallest(const LevelPlan&) {
  return 1;
}

}  // namespace grainless
