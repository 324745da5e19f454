// SPDX-License-Identifier: MIT
#include "plan.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "match_scale.h"
#include "nlm_plan.h"
#include "pyramid.h"
#include "sw_nlm_plan.h"
#include "transforms.h"

namespace grainless {
namespace {

// What a quality stands for in BM3D, a stage a row. Fast and normal are Dabov 2007 and the
// reference implementation's lc and np profiles (facts/quality.md 3.1); high adds a ridge filter,
// whose best patches are smaller (docs/quality.md). tau: largest mean squared difference a pixel of
// a group's patches from its reference up to sigma 25, in steps^2 of a grey plane (see
// match_threshold). Stage 2 takes twice the published tau of 400, and with it mu^2 = 0.9: better by
// 0.01 dB on Set12 and 0.02 to 0.03 dB on Kodak24 at sigma 15 to 50, the same at 5.
struct Bm3dProfile {
  GroupRule rule;
  int32_t patch, step, search, group;
  double shrink;  // lambda, or mu^2
  double tau;
};
constexpr Bm3dProfile kFast[] = {{GroupRule::kHardThreshold, 8, 4, 33, 16, 2.7, 3000},
                                 {GroupRule::kWiener, 8, 4, 33, 16, 0.9, 800}};
constexpr Bm3dProfile kNormal[] = {{GroupRule::kHardThreshold, 8, 3, 39, 16, 2.7, 3000},
                                   {GroupRule::kWiener, 8, 3, 39, 32, 0.9, 800}};
constexpr Bm3dProfile kHigh[] = {{GroupRule::kHardThreshold, 8, 3, 39, 16, 2.7, 3000},
                                 {GroupRule::kWiener, 8, 3, 39, 32, 0.9, 800},
                                 {GroupRule::kRidge, 5, 3, 39, 32, 1.0, 2400}};
constexpr std::span<const Bm3dProfile> kBm3dProfiles[3] = {kFast, kNormal, kHigh};
// Dabov 2007: before patches are compared at strong noise, each one's own coefficients below
// lambda_2D = 2 sigma go. Here that is a stage of its own, whose groups are single patches: its
// estimate is compared. It loses: at sigma 25, 50 and 75 0.28, 0.62 and 0.92 dB (mean of five
// standard pictures), at any tau, and the more the larger lambda_2D is. A choice all the same.
constexpr Bm3dProfile kPrefilter = {GroupRule::kHardThreshold, 8, 3, 3, 1, 2.0, 0};
constexpr double kPrefilteredTau = 5000.0;
constexpr double kKaiserBeta = 2.0;
// Chroma of photographs has less detail than luma: larger lambda and mu^2 gain there. Colour PSNR,
// lambda * 1.15 and mu^2 * 1.2: 0.07 to 0.1 dB on Kodak24 at sigma 15 to 50.
constexpr double kChromaLambda = 1.15, kChromaMu = 1.2;
constexpr int32_t kUsualPatch = 8;  // the patch parameter is in proportion to it

// tau at that sigma. At low noise it bounds the signal's own difference, at high noise it follows
// the 2 sigma^2 of two noisy copies; smooth in sigma, unlike the published profiles' switch at 40
// (3000 to 25000; 400 to 3500).
double match_threshold(double tau, double sigma) {
  return tau * std::max(1.0, std::pow(sigma / 25.0, 3.0));
}

// Noise's complex coefficients pass lambda * sigma with a chance of exp(-lambda^2): as many as the
// real ones of the other transforms with 2.7. Best within 0.01 dB on four pictures of Set12, too.
constexpr double kDftLambda = 2.25;

// Most match values a step. What libraries make of a Fourier transform differs in the last bits
// from backend to backend, and so does the pilot: few enough values a step keep the pixels rare
// whose match value differs, too.
constexpr double kFineMatchScale = 1e9;
constexpr double kCoarseMatchScale = 1.0;

void set_window(Bm3dStage& stage, double beta) {
  const std::vector<double> window = kaiser_window(stage.patch, beta);
  for (int32_t i = 0; i < stage.patch; ++i) stage.kaiser[i] = static_cast<float>(window[i]);
}

void set_basis(Bm3dStage& stage, Transform transform) {
  stage.transform = static_cast<int32_t>(transform);
  if (transform == Transform::kDft) return;
  const PatchBasis basis = patch_basis(transform, stage.patch);
  for (int32_t i = 0; i < stage.patch * stage.patch; ++i) {
    stage.forward[i] = static_cast<float>(basis.forward[i]);
    stage.inverse[i] = static_cast<float>(basis.inverse[i]);
  }
  stage.transform = static_cast<int32_t>(basis.transform);
}

void set_matching(Bm3dStage& stage, double tau, bool colour, double most) {
  const double limit = tau * stage.patch * stage.patch * (colour ? 3.0 : 1.0);
  // 2^24: sums up to the threshold are exact in float, too.
  const double scale = std::min({most, largest_match_scale(stage.patch * stage.patch),
                                 std::sqrt(std::ldexp(1.0, 24) / limit)});
  stage.match_scale = static_cast<float>(scale);
  stage.match_centre = luma_match_centre(colour);
  stage.distance_shift = 4;
  const double key = limit * scale * scale / 16.0;
  stage.max_distance = static_cast<uint32_t>(std::min(key, kMaxKeyDistance - 1.0));
}

Bm3dStage make_stage(const Bm3dProfile& profile, const Params& params, const double* sigma,
                     int32_t channels) {
  Bm3dStage stage{};
  const bool first = profile.rule == GroupRule::kHardThreshold;
  stage.rule = static_cast<int32_t>(profile.rule);
  stage.patch = params.patch == 0
                    ? profile.patch
                    : std::max(2, (params.patch * profile.patch + kUsualPatch / 2) / kUsualPatch);
  stage.step = std::min(params.step != 0 ? params.step : profile.step, stage.patch);
  stage.radius = (params.search != 0 ? params.search : profile.search) / 2;
  stage.group = params.group != 0 ? params.group : profile.group;
  const bool dft = params.transform == static_cast<int32_t>(Transform::kDft);
  set_basis(stage, first ? static_cast<Transform>(params.transform) : Transform::kDct);
  set_window(stage, kKaiserBeta);
  set_matching(stage, match_threshold(profile.tau, sigma[0]), channels == 3,
               dft && !first ? kCoarseMatchScale : kFineMatchScale);
  const double shrink = dft && first ? kDftLambda : profile.shrink;
  for (int32_t c = 0; c < channels; ++c) {
    const double more = c == 0 ? 1.0 : first ? kChromaLambda : kChromaMu;
    const double amount = first ? sigma[c] : sigma[c] * sigma[c];
    stage.shrink[c] = static_cast<float>(more * shrink * amount);
  }
  return stage;
}

// Of luma alone, which is all that is compared.
Bm3dStage make_prefilter(const Params& params, double sigma, int32_t channels) {
  Params own = params;
  own.transform = static_cast<int32_t>(Transform::kDct);
  own.search = own.group = own.step = 0;
  const double luma[kMaxChannels] = {sigma, 0, 0};
  return make_stage(kPrefilter, own, luma, channels);
}

void add_stage(LevelPlan& level, const Bm3dStage& stage) {
  level.bm3d[level.stage_count++] = stage;
  level.reach += 2 * stage.radius + stage.patch - 1;
}

// NLM compares neighbours that share correlated noise and finds them alike: it needs less strength
// than BM3D, which tells signal from noise by its coefficients (PolyU: best near a half).
constexpr double kNlmStrength = 0.5;

// Noise of a level as the method is to take it; beyond the measured levels it goes on as it did, or
// halves.
double level_sigma(const Params& params, const NoiseModel& noise, int32_t level, int32_t channel) {
  const Method method = static_cast<Method>(params.method);
  const bool weak = method == Method::kNlm && !noise.white[channel];
  // Shapiro-Wilk asks for the noise as it is: the test rejects what is more alike, too.
  const double strength =
      method == Method::kSwNlm ? 1 : noise.strength[channel] * (weak ? kNlmStrength : 1);
  const int32_t last = noise.levels - 1;
  const double sigma = noise.sigma[std::min(level, last)][channel] * strength;
  if (level <= last) return sigma;
  const double before = last > 0 ? noise.sigma[last - 1][channel] : 0.0;
  const double ratio = before > 0 ? std::min(1.0, noise.sigma[last][channel] / before) : 0.5;
  return sigma * std::pow(ratio, level - last);
}

// From here on a second level gains on white noise (nothing at 25, 0.06 to 0.11 dB at 50).
constexpr double kTwoLevels = 25.0;

// Camera noise is low-frequency: quarter resolution still shows it. White noise needs one level;
// high quality takes two where they gain.
int32_t level_count(const Params& params, const NoiseModel& noise) {
  if (params.scales > 0) return params.scales;
  for (int32_t c = 0; c < noise.channels; ++c) {
    if (!noise.white[c] && noise.sigma[0][c] > 0) return 3;
  }
  const bool high_bm3d = params.quality == static_cast<int32_t>(Quality::kHigh) &&
                         params.method == static_cast<int32_t>(Method::kBm3d);
  return high_bm3d && noise.sigma[0][0] * params.strength / 100 >= kTwoLevels ? 2 : 1;
}

void set_level(LevelPlan& level, int32_t index, const Params& params, int32_t channels,
               const NoiseModel& noise) {
  double measured[kMaxChannels] = {}, sigma[kMaxChannels] = {};
  for (int32_t c = 0; c < channels; ++c) {
    measured[c] = level_sigma(params, noise, index, std::min(c, noise.channels - 1));
    sigma[c] = measured[c] * params.strength / 100 * (c == 0 ? params.luma : params.chroma) / 100;
  }
  if (params.method == static_cast<int32_t>(Method::kSwNlm)) {
    const int32_t patch = sw_nlm_patch(params, measured[0]);
    level.sw_nlm =
        make_sw_nlm(params, patch, measured, channels, nlm_h(patch * patch, channels == 3, false));
    level.reach = level.sw_nlm.radius + patch / 2;
    return;
  }
  if (params.method != static_cast<int32_t>(Method::kBm3d)) {
    level.nlm = make_nlm(params, measured, channels);
    level.reach =
        level.nlm.radius + (level.nlm.patchwise != 0 ? level.nlm.patch - 1 : level.nlm.patch / 2);
    return;
  }
  if (params.matching == static_cast<int32_t>(Matching::kPrefiltered) && sigma[0] > 0) {
    add_stage(level, make_prefilter(params, sigma[0], channels));
  }
  for (const Bm3dProfile& profile : kBm3dProfiles[params.quality]) {
    Bm3dStage stage = make_stage(profile, params, sigma, channels);
    const bool first = profile.rule == GroupRule::kHardThreshold;
    if (first && level.stage_count > 0) {
      set_matching(stage, kPrefilteredTau, channels == 3, kFineMatchScale);
    }
    add_stage(level, stage);
    if (params.stages == static_cast<int32_t>(Stages::kFirst)) break;
  }
}

}  // namespace

bool changes_nothing(const Params& params, const NoiseModel& noise) {
  bool luma = false, chroma = false;
  for (int32_t c = 0; c < noise.channels; ++c) {
    bool& changed = c == 0 ? luma : chroma;
    changed = changed || noise.sigma[0][c] > 0;
  }
  luma = luma && params.luma > 0 && params.detail < 100;
  chroma = chroma && params.chroma > 0;
  return params.strength <= 0 || !(luma || chroma);
}

Plan make_plan(const Params& params, PixelFormat format, const NoiseModel& noise) {
  Plan plan{};
  plan.method = params.method;
  plan.format = format;
  plan.channels = format.colours();
  plan.detail = static_cast<float>(params.detail / 100);
  plan.level_count = level_count(params, noise);
  for (int32_t l = 0; l < plan.level_count; ++l) {
    set_level(plan.level[l], l, params, plan.channels, noise);
  }
  plan.halo = kFillRadius + pyramid_reach(plan.level, plan.level_count);
  plan.smallest =
      params.method == static_cast<int32_t>(Method::kBm3d) ? plan.level[0].bm3d[0].patch : 1;
  return plan;
}

}  // namespace grainless
