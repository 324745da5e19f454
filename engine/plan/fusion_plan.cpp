// SPDX-License-Identifier: MIT
#include "fusion_plan.h"

#include <algorithm>
#include <cmath>

#include "toned_noise.h"

namespace grainless {
namespace {

// A channel said to be nearly free of noise still may not outweigh the others beyond measure.
constexpr double kLeastShare = 0.25;
// Of layers that surely stand still, how much of their difference counts: some of the noise is
// stronger than the measured one. (Bursts of four with noise of a sensor: kodim15 37.2 -> 38.1 dB,
// kodim03 41.8 -> 43.3; with 0.25 the same, but layers 0.3 pixels apart lose 0.6 dB.)
constexpr double kStillShare = 0.5;
// Of noise that isn't known that well, where all moves as one: of a camera's the measured one is
// the least. (72 bursts of five that drift and shake, noise of sensors: 38.9 -> 39.8 dB; what moves
// in many ways loses.)
constexpr double kFollowedShare = 0.7;
// Noise that is weaker hides nothing that anybody would miss.
constexpr float kLeastFollowed = 2.9f;

// Beyond the measured levels noise halves, as white noise does.
double sigma_at(const PictureNoise& noise, int32_t level, int32_t channel) {
  const int32_t known = std::min(level, noise.levels - 1);
  return std::ldexp(noise.sigma[known][channel], known - level);
}

bool is_even(const NoiseModel& noise) {
  return surely_white(noise) && noise.bend.enabled == 0 && !noise.stack.alone.known;
}

}  // namespace

bool follows_motion(const NoiseModel& noise) {
  const float sigma = noise.stack.strengths.most() * std::ldexp(noise.sigma[0][0], noise.reduction);
  return !noise.stack.between.known && noise.confidence == Confidence::kMeasured &&
         sigma >= kLeastFollowed;
}

LayerDifference told_apart_by(const NoiseModel& noise) {
  const StackNoise& stack = noise.stack;
  LayerDifference apart = stack.between;
  // Noise whose tones are known says best itself what differs by more.
  const bool told = stack.still && stack.told_tones > 0;
  if (apart.instead || (apart.known && !told)) return apart;
  for (int32_t l = 0; l < kFusionLevels; ++l) {
    for (int32_t c = 0; c < noise.channels; ++c) {
      apart.sigma[l][c] = static_cast<float>(sigma_at(noise, l, c));
    }
  }
  std::copy_n(stack.layer_tones, kNoiseTones, apart.tones);
  return apart;
}

FusionPlan make_fusion_plan(const Params& params, int32_t depth, int32_t channels,
                            const NoiseModel& noise) {
  const StackNoise& stack = noise.stack;
  FusionPlan plan{};
  plan.channels = channels;
  plan.depth = stack.between.known ? std::min(depth, stack.between.reach) : depth;
  const bool tried = params.method < kStackMethods;
  if (tried && stack.apart[params.method]) plan.depth = 0;
  plan.valid = kAnyFinite;
  plan.corners = noise.corners;
  if (plan.corners.enabled != 0) plan.bend = enabled_bend({});
  plan.levels = kFusionLevels;
  plan.tone_scale = static_cast<float>(kNoiseTones / 256.0 / (channels == 3 ? std::sqrt(3.0) : 1));
  const bool still = stack.still || stack.between.known;
  const LayerDifference apart = told_apart_by(noise);
  for (int32_t t = 0; t < kNoiseTones; ++t) plan.tones[t] = 1 / apart.tones[t];
  plan.follows =
      follows_motion(noise) && plan.depth > 0 && !(tried && stack.unfollowed[params.method]);
  if (plan.follows) plan.places = stack.places;
  plan.strengths = stack.strengths;
  plan.followed_share = static_cast<float>(still || is_even(noise) ? 1 : kFollowedShare);
  const double counted = still && !stack.between.in_sharpness ? kStillShare : 1;
  for (int32_t c = 0; c < channels; ++c) {
    const int32_t from = std::min(c, noise.channels - 1);
    const double wanted = params.strength / 100 * (c == 0 ? params.luma : params.chroma) / 100;
    plan.taken[c] = static_cast<float>(std::min({1.0, wanted, wanted * apart.share[from]}));
    for (int32_t l = 0; l < plan.levels; ++l) {
      const float* seen = apart.sigma[l];
      const double strongest = *std::max_element(seen, seen + noise.channels);
      const double sigma = std::max<double>(seen[from], kLeastShare * strongest);
      const double variance = sigma * sigma * channels / counted;
      if (sigma > 0) plan.gain[l][c] = static_cast<float>(0.5 / variance);
      if (c == 0 && l > 0) plan.motion_sigma[l - 1] = static_cast<float>(sigma);
    }
  }
  return plan;
}

double FusionPlan::worth(int32_t z, int32_t layers) const {
  double all = 0;
  for (int32_t l = std::max(z - depth, 0); l <= std::min(z + depth, layers - 1); ++l) {
    all += double{variance(z, layers)} / variance(l, layers);
  }
  return all;
}

int32_t FusionPlan::reach() const {
  constexpr int32_t kQuarter = 4;  // pixels a side of those by which motion is looked for
  if (!follows) return still_reach();
  const int32_t moved =
      places.count == 0
          ? 0
          : static_cast<int32_t>(std::ceil(places.farthest(depth))) + kMovedRound + kQuarter;
  return still_reach() + kMotionReach + moved;
}

bool fuses_anything(const FusionPlan& plan, bool lightness) {
  bool seen = false, taken = false;
  for (int32_t c = 0; c < plan.channels; ++c) {
    seen = seen || plan.gain[0][c] > 0;
    taken = taken || ((c > 0 || lightness) && plan.taken[c] > 0);
  }
  return seen && taken;
}

double fused_sigma(double share, double count) {
  const double other = share / count, own = 1 - share + other;
  return std::sqrt(own * own + (count - 1) * other * other);
}

}  // namespace grainless
