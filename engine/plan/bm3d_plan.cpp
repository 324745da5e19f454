// SPDX-License-Identifier: MIT
#include "bm3d_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <vector>

#include "engine/boundary/post_filter.h"
#include "transforms.h"

namespace grainless {
namespace {

// What a quality stands for in BM3D, a stage a row. Fast and normal are Dabov 2007 and the
// reference implementation's lc and np profiles; high goes on with ridge filters one after the
// other, of growing patches, each of which leaves less of the noise, chroma by two of them
// (docs/quality.md). tau: largest mean squared difference a pixel of a group's patches from its
// reference up to sigma 25, in steps^2 of a grey plane (see match_threshold). Stage 2 takes twice
// the published tau of 400, and with it mu^2 = 0.9: better by 0.01 dB on Set12 and 0.02 to 0.03 dB
// on Kodak24 at sigma 15 to 50, the same at 5.
struct Bm3dProfile {
  GroupRule rule;
  int32_t patch, step, search, group;
  double shrink;  // lambda, or mu^2
  double tau;
  float share = 1;     // Bm3dStage::share
  bool chroma = true;  // false: luma alone
};
constexpr Bm3dProfile kFast[] = {{GroupRule::kHardThreshold, 8, 4, 33, 16, 2.7, 3000},
                                 {GroupRule::kWiener, 8, 4, 33, 16, 0.9, 800}};
constexpr Bm3dProfile kNormal[] = {{GroupRule::kHardThreshold, 8, 3, 39, 16, 2.7, 3000},
                                   {GroupRule::kWiener, 8, 3, 39, 32, 0.9, 800}};
constexpr Bm3dProfile kHigh[] = {{GroupRule::kHardThreshold, 8, 3, 39, 16, 2.7, 3000},
                                 {GroupRule::kWiener, 8, 3, 39, 32, 0.9, 800},
                                 {GroupRule::kRidge, 5, 4, 39, 32, 1.0, 2400, 0.75f},
                                 {GroupRule::kRidge, 6, 5, 39, 32, 1.0, 2400, 0.4f},
                                 {GroupRule::kRidge, 7, 4, 39, 32, 1.0, 2400, 0.15f, false}};
// On coarser levels of white noise, of which low frequencies alone count: 0.006 dB less on Set12 at
// sigma 25 than with all of kHigh. Coarse noise, as cameras make it, is worth all of it.
constexpr Bm3dProfile kHighCoarse[] = {{GroupRule::kHardThreshold, 8, 4, 39, 16, 2.7, 3000},
                                       {GroupRule::kWiener, 8, 4, 39, 32, 0.9, 800},
                                       {GroupRule::kRidge, 5, 4, 39, 32, 1.0, 2400, 0.75f},
                                       {GroupRule::kRidge, 7, 5, 39, 32, 1.0, 2400, 0.3f, false}};
constexpr std::span<const Bm3dProfile> kBm3dProfiles[3] = {kFast, kNormal, kHigh};
static_assert(1 + std::size(kHigh) <= kMaxBm3dStages);  // with a prefilter
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

void set_matching(Bm3dStage& stage, const MatchSpan& span, double tau, bool colour, double most) {
  const double limit = tau * stage.patch * stage.patch * (colour ? 3.0 : 1.0);
  // 2^24: sums up to the threshold are exact in float, too.
  const double scale = std::min({most, largest_match_scale(span, colour, stage.patch * stage.patch),
                                 std::sqrt(std::ldexp(1.0, 24) / limit)});
  stage.match = match_curve(span, colour, 0);
  stage.match.scale = static_cast<float>(scale);
  const double key = limit * scale * scale;
  // Usual pictures' keys leave out 4 bits; few match values a step need them all.
  stage.distance_shift = span.usual || key >= kMaxKeyDistance ? 4 : 0;
  const double shifted = std::ldexp(key, -stage.distance_shift);
  stage.max_distance = static_cast<uint32_t>(std::min(shifted, kMaxKeyDistance - 1.0));
}

// As match_fineness(): a group's patches may differ by many steps or some sigma a pixel (tau).
double group_fineness(const Bm3dStage& stage, const MatchSpan& span, double sigma) {
  return stage.match.scale * std::max(16.0 * span.unit, 2 * sigma);
}

Bm3dStage make_stage(const Bm3dProfile& profile, const Params& params, const MatchSpan& span,
                     const double* sigma, int32_t channels) {
  Bm3dStage stage{};
  const bool first = profile.rule == GroupRule::kHardThreshold;
  stage.rule = static_cast<int32_t>(profile.rule);
  stage.patch = params.patch == 0
                    ? profile.patch
                    : std::max(2, (params.patch * profile.patch + kUsualPatch / 2) / kUsualPatch);
  stage.step = std::min(params.step != 0 ? params.step : profile.step, stage.patch);
  stage.share = profile.share;
  stage.radius = (params.search != 0 ? params.search : profile.search) / 2;
  stage.group = params.group != 0 ? params.group : profile.group;
  const bool dft = params.transform == static_cast<int32_t>(Transform::kDft);
  set_basis(stage, first ? static_cast<Transform>(params.transform) : Transform::kDct);
  set_window(stage, kKaiserBeta);
  const double tau = match_threshold(profile.tau, sigma[0] / span.unit) * span.unit * span.unit;
  set_matching(stage, span, tau, channels == 3,
               dft && !first ? kCoarseMatchScale : kFineMatchScale);
  const double shrink = dft && first ? kDftLambda : profile.shrink;
  for (int32_t c = 0; c < channels; ++c) {
    const double more = c == 0 ? 1.0 : first ? kChromaLambda : kChromaMu;
    const double amount = first ? sigma[c] : sigma[c] * sigma[c];
    const bool filtered = c == 0 || profile.chroma;
    stage.shrink[c] = filtered ? static_cast<float>(more * shrink * amount) : 0.0f;
    stage.sigma[c] = static_cast<float>(sigma[c]);
  }
  return stage;
}

// Of luma alone, which is all that is compared.
Bm3dStage make_prefilter(const Params& params, const MatchSpan& span, double sigma,
                         int32_t channels) {
  Params own = params;
  own.transform = static_cast<int32_t>(Transform::kDct);
  own.search = own.group = own.step = 0;
  const double luma[kMaxChannels] = {sigma, 0, 0};
  return make_stage(kPrefilter, own, span, luma, channels);
}

void add_stage(LevelPlan& level, const Bm3dStage& stage) {
  level.bm3d[level.stage_count++] = stage;
  level.reach += stage.support();
}

// Luma's deviation times chroma's sigma from which on small colours are left to the finer level, in
// steps^2 (docs/quality.md).
constexpr double kGuide = 60.0;

// BM3D alone is given so much strength against a camera's chroma noise that colours need the guide.
float chroma_guide(const LevelRequest& request) {
  const PictureNoise& noise = request.noise;
  if (request.index == 0 || noise.channels != 3 || noise.white[1] || noise.white[2]) return 0;
  double squares = 0;
  for (int32_t c = 1; c < 3; ++c) squares += request.sigma[c] * request.sigma[c];
  return static_cast<float>(squares / 2 / (9 * kGuide * kGuide));
}

std::span<const Bm3dProfile> profiles_of(const LevelRequest& request) {
  const int32_t quality = request.params.quality;
  const bool high = quality == static_cast<int32_t>(Quality::kHigh);
  if (high && request.index > 0 && !is_correlated(request.noise)) return kHighCoarse;
  return kBm3dProfiles[quality];
}

// The post-filter has learned from what all of high's stages leave of the finest level.
void add_post_filter(LevelPlan& level, const LevelRequest& request) {
  const Params& params = request.params;
  const bool learned = params.quality == static_cast<int32_t>(Quality::kHigh) &&
                       params.stages != static_cast<int32_t>(Stages::kFirst);
  if (!learned || request.index > 0 || !(request.sigma[0] > 0)) return;
  level.post_filter = static_cast<float>(request.sigma[0]);
  level.reach += kPostFilterReach;
}

}  // namespace

double set_bm3d_level(LevelPlan& level, const LevelRequest& request) {
  const Params& params = request.params;
  const MatchSpan& span = request.span;
  const bool colour = request.channels == 3;
  level.guide = chroma_guide(request);
  if (params.matching == static_cast<int32_t>(Matching::kPrefiltered) && request.sigma[0] > 0) {
    add_stage(level, make_prefilter(params, span, request.sigma[0], request.channels));
  }
  double fineness = 1;
  for (const Bm3dProfile& profile : profiles_of(request)) {
    Bm3dStage stage = make_stage(profile, params, span, request.sigma, request.channels);
    const bool first = profile.rule == GroupRule::kHardThreshold;
    if (first && level.stage_count > 0) {
      set_matching(stage, span, kPrefilteredTau * span.unit * span.unit, colour, kFineMatchScale);
    }
    fineness = std::min(fineness, group_fineness(stage, span, request.sigma[0]));
    add_stage(level, stage);
    if (params.stages == static_cast<int32_t>(Stages::kFirst)) break;
  }
  add_post_filter(level, request);
  return fineness;
}

int32_t bm3d_smallest(const LevelPlan& level) {
  return level.bm3d[0].patch;
}

}  // namespace grainless
