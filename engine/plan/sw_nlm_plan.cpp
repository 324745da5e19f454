// SPDX-License-Identifier: MIT
// The difference of two noisy copies of one patch has the deviation sqrt(2) sigma; the sources of
// Shapiro-Wilk NLM divide by it in one place and by 2 sigma in another (Yamanappa et al. 2018; van
// der Vuurst 2023). Only with sqrt(2) sigma do their gates, |mean| and |deviation - 1| under the
// standard error, hold for equal patches.
#include "sw_nlm_plan.h"

#include <algorithm>
#include <cmath>

#include "match_scale.h"
#include "nlm_plan.h"
#include "shapiro_wilk.h"

namespace grainless {
namespace {

constexpr double kAlpha = 0.05;  // of equal patches, the test rejects so many

// Match values a sigma: rounding adds 1 / (12 * 16^2) of the noise variance, and the largest
// sums (16 x 16 pixels, four times the strength) stay within an int.
constexpr double kUnit = 16.0;
constexpr double kLargestValue = 64 * double{kMatchMost};  // of 16 bits

// By quality. On boat 11, 21 and 31 give 27.90, 28.18 and 28.20 dB at sigma 25, 24.55, 25.11 and
// 25.18 dB at 50.
constexpr int32_t kSearch[3] = {11, 21, 31};

// More strength lets pairs in that differ more than noise does; it never shuts any out, so that
// more strength never leaves more noise. Less keeps a share of the noise instead.
SwNlmGate make_gate(double strength, int32_t pixels, int32_t channels, double unit, double h) {
  const double n = pixels, wider = std::max(strength, 1.0);
  const double variance = 2 * unit * unit;  // of a difference of two noisy match values
  const auto lowest = [](double count) { return std::pow(1 + 1 / std::sqrt(count), -2); };
  const auto highest = [](double count) { return std::pow(1 - 1 / std::sqrt(count), -2); };
  const double most = n * (n - 1) * variance * wider * wider * highest(n);
  SwNlmGate gate{};
  gate.least_spread = static_cast<int32_t>(n * (n - 1) * variance * lowest(n));
  gate.most_spread = static_cast<int32_t>(most);
  gate.most_square = static_cast<int32_t>(most / (n - 1));
  gate.most_chroma = static_cast<int32_t>(2 * n * variance * wider * wider * highest(2 * n));
  gate.fallback.enabled = 1;
  gate.fallback.gain = static_cast<float>(1 / (n * channels * unit * unit * wider * wider));
  gate.fallback.noise = 2;
  gate.fallback.decay = static_cast<float>(1 / (h * h));
  return gate;
}

// How much of the noise is taken where all may be. Patches of grey that pass the test at weak noise
// differ by texture, too: 0.85 gains 0.1 to 0.5 dB up to sigma 10, loses as much from 25 on. Colour
// tells more, and gains nothing.
double share_taken(double sigma, int32_t channels) {
  constexpr double kShare = 0.85, kWeak = 12, kStrong = 22;
  if (channels > 1) return 1;
  return std::lerp(kShare, 1.0, std::clamp((sigma - kWeak) / (kStrong - kWeak), 0.0, 1.0));
}

// The side of its patches at noise of sigma.
int32_t sw_nlm_patch(const Params& params, double sigma) {
  if (params.patch != 0) return params.patch;
  return sigma <= 15 ? 3 : sigma <= 40 ? 5 : 7;
}

// `noise` a channel is what the test expects, of those compared; fallback_h: h / sigma of the
// weights that pixels without an accepted pair take.
SwNlmPlan make_sw_nlm(const Params& params, const MatchSpan& span, int32_t patch,
                      const double* noise, int32_t channels, int32_t compared, double fallback_h) {
  SwNlmPlan plan{};
  plan.patch = patch;
  plan.radius = (params.search != 0 ? params.search : kSearch[params.quality]) / 2;
  plan.centre = nlm_centre(params, span, NlmNoise::kWhite, noise[0], false);
  const double largest = kLargestValue / match_curve(span, channels == 3, 0).most;
  const double unit = set_match_planes(plan.match, span, kUnit, largest, noise, channels, compared);

  const int32_t pixels = patch * patch;
  const std::vector<double> a = shapiro_wilk_coefficients(pixels);
  const double one = std::ldexp(1.0, kSwCoefficientBits);
  for (size_t i = 0; i < a.size(); ++i)
    plan.coefficient[i] = static_cast<int16_t>(std::rint(one * a[i]));
  plan.norm = static_cast<float>(pixels / (one * one));
  plan.least_w = static_cast<float>(shapiro_wilk_threshold(pixels, kAlpha));

  const double luma = params.strength * params.luma / 1e4;
  const double chroma = params.strength * params.chroma / 1e4;
  const int32_t noisy = noisy_channels(noise, compared);
  for (int32_t c = 0; c < channels; ++c) {
    const double strength =
        (c == 0 ? luma : chroma) * share_taken(noise[c < compared ? c : 0] / span.unit, noisy);
    plan.taken[c] = static_cast<float>(std::min(strength, 1.0));
  }
  plan.luma = make_gate(luma, pixels, noisy, unit, fallback_h);
  plan.chroma = channels == 3 ? make_gate(chroma, pixels, noisy, unit, fallback_h) : plan.luma;
  plan.joint = channels == 1 || std::max(luma, 1.0) == std::max(chroma, 1.0) ? 1 : 0;
  return plan;
}

}  // namespace

double set_sw_nlm_level(LevelPlan& level, const LevelRequest& request) {
  const double* measured = request.measured;
  const int32_t channels = request.channels;
  const int32_t patch = sw_nlm_patch(request.params, measured[0] / request.span.unit);
  const int32_t compared = compared_channels(request.noise, channels);
  level.sw_nlm = make_sw_nlm(request.params, request.span, patch, measured, channels, compared,
                             nlm_h(patch * patch, noisy_channels(measured, compared) == 3, false));
  level.reach = level.sw_nlm.radius + patch / 2;
  return match_fineness(level.sw_nlm.match, measured, compared, request.least_unit(kLeastSwUnit));
}

int32_t sw_nlm_smallest(const LevelPlan&) {
  return 1;
}

}  // namespace grainless
