// SPDX-License-Identifier: MIT
#include "make_plan.h"

#include <algorithm>
#include <cmath>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/pyramid.h"
#include "engine/methods.h"
#include "engine/noise/clip_curve.h"
#include "engine/params/tone_strength.h"
#include "impulse_plan.h"
#include "level_request.h"
#include "match_scale.h"
#include "toned_noise.h"

namespace grainless {
namespace {

constexpr auto kWidest = static_cast<float>(kWidestValue);

// Noise of a level as the method is to take it; beyond the measured levels it goes on as it did, or
// halves.
double level_sigma(const Params& params, const PictureNoise& noise, int32_t level,
                   int32_t channel) {
  const MethodNoise& taken = method_row(params.method).noise;
  const double correlated = noise.white[channel] ? 1
                            : channel == 0       ? taken.correlated_luma
                                                 : taken.correlated_chroma;
  const double strength = taken.as_it_is ? 1 : noise.strength[channel] * correlated;
  const int32_t last = noise.levels - 1;
  const double sigma = noise.sigma[std::min(level, last)][channel] * strength;
  if (level <= last) return sigma;
  const double before = last > 0 ? noise.sigma[last - 1][channel] : 0.0;
  const double ratio = before > 0 ? std::min(1.0, noise.sigma[last][channel] / before) : 0.5;
  return sigma * std::pow(ratio, level - last);
}

// Camera noise is low-frequency: quarter resolution still shows it. White noise needs one level;
// high quality takes two where they gain.
int32_t level_count(const Params& params, const PictureNoise& noise) {
  if (params.scales > 0) return params.scales;
  if (is_correlated(noise)) return 3;
  if (params.quality != static_cast<int32_t>(Quality::kHigh)) return 1;
  const double least = method_row(params.method).noise.two_levels;
  return noise.sigma[0][0] * params.strength / 100 >= least ? 2 : 1;
}

// What is taken for noise of that sigma in channel c.
double removed_sigma(const Params& params, double sigma, int32_t c) {
  sigma = sigma * params.strength / 100 * (c == 0 ? params.luma : params.chroma) / 100;
  return sigma >= kLeastSigma ? sigma : 0.0;
}

// Returns how fine match values are: under 1, the span is too wide for them.
double set_level(LevelPlan& level, int32_t index, const Params& given, const MatchSpan& span,
                 int32_t channels, const PictureNoise& noise) {
  double measured[kMaxChannels] = {}, sigma[kMaxChannels] = {};
  for (int32_t c = 0; c < channels; ++c) {
    measured[c] = level_sigma(given, noise, index, std::min(c, noise.channels - 1));
    sigma[c] = removed_sigma(given, measured[c], c);
  }
  const Params params = audible_params(given, measured, channels);
  const double fineness =
      method_row(params.method)
          .set_level(level, {params, index, span, channels, measured, sigma, noise});
  // Where no noise is removed, impulses alone are: nothing is compared.
  const bool compares = std::any_of(sigma, sigma + channels, [](double s) { return s > 0; });
  return compares ? fineness : 1;
}

// Sets the levels. Returns the least fineness of any.
double set_levels(Plan& plan, const Params& params, const MatchSpan& span,
                  const PictureNoise& noise) {
  double fineness = 1;
  for (int32_t l = 0; l < plan.level_count; ++l) {
    plan.level[l] = {};
    fineness = std::min(fineness, set_level(plan.level[l], l, params, span, plan.channels, noise));
  }
  plan.valid = valid_range(span);
  return fineness;
}

// The colours that are valid when they are bent: those are compared. A usual picture's don't become
// more by it.
ValueRange valid_before(const ToneBend& bend, const ValueRange& valid, bool usual) {
  const ValueRange before{unbent(bend, valid.low), unbent(bend, valid.high)};
  if (!usual) return {std::max(before.low, -kWidest), std::min(before.high, kWidest)};
  return {std::max(valid.low, before.low), std::min(valid.high, before.high)};
}

}  // namespace

double LevelRequest::least_unit(double of_first_level) const {
  return std::ldexp(of_first_level, -index);
}

bool is_correlated(const PictureNoise& noise) {
  for (int32_t c = 0; c < noise.channels; ++c) {
    if (!noise.white[c] && noise.sigma[0][c] > 0) return true;
  }
  return false;
}

bool changes_nothing(const Params& params, const PictureNoise& noise) {
  if (impulse_rule(params, noise).enabled != 0) return false;
  for (int32_t c = 0; c < noise.channels; ++c) {
    const bool given_back = c == 0 && params.detail >= 100;
    if (!given_back && removed_sigma(params, noise.sigma[0][c], c) > 0) return false;
  }
  return true;
}

Params audible_params(const Params& params, const double* sigma, int32_t channels) {
  bool luma = false, chroma = false;
  for (int32_t c = 0; c < channels; ++c) {
    bool& audible = c == 0 ? luma : chroma;
    audible = audible || removed_sigma(params, sigma[c], c) > 0;
  }
  Params result = params;
  if (!luma && !chroma) result.strength = 0;
  // With one share for both, one distance serves all channels.
  if (channels == 1 || params.luma == params.chroma) return result;
  if (!luma) result.luma = 0;
  if (!chroma) result.chroma = 0;
  return result;
}

ClipCurve clip_for(const Params& params, int32_t channels, const ClipCurve& curve) {
  const double chroma = channels == 3 ? params.chroma : params.luma;
  // Leading back makes what noise stays stronger. (Six of Kodak24, sigma 25 and 50, strengths and
  // shares of 30 to 80 %: in proportion up to 0.27 dB below none at all, the square 0.11.)
  const auto share_of = [&](double tones) {
    const double least = std::min({params.luma, chroma, tones}) / 100;
    const double removed = std::min(1.0, params.strength / 100 * least * (1 - params.detail / 100));
    return removed * removed;
  };
  return part_of(curve, share_of(params.shadows), share_of(params.highlights));
}

Plan make_plan(const Params& params, PixelFormat format, const PictureNoise& measured) {
  const PictureNoise noise = toned_noise(params, measured);
  Plan plan{};
  plan.method = params.method;
  plan.format = format;
  plan.channels = format.colours();
  plan.corners = noise.corners;
  const ClipCurve clip = clip_for(params, plan.channels, noise.bend.clip);
  const bool bends = plan.corners.enabled != 0 || clip.step > 0;
  set_bend(plan, bends ? enabled_bend(noise.bend) : noise.bend, noise.range);
  plan.bend.clip = clip;
  plan.impulse = impulse_rule(params, noise);
  plan.detail = static_cast<float>(params.detail / 100);
  plan.level_count = level_count(params, noise);
  const MatchSpan span = match_span(noise);
  const double fineness = set_levels(plan, params, span, noise);
  if (!span.usual && fineness < 1) {  // which goes with 1 / half
    set_levels(plan, params, span.cut_to(span.half() * fineness, noise.range.middle), noise);
  }
  if (has_tone_strength(params)) {
    plan.valid = valid_before(plan.bend, plan.valid, span.usual);
  }
  plan.halo = kFillRadius + pyramid_reach(plan.level, plan.level_count);
  plan.smallest = method_row(params.method).smallest(plan.level[0]);
  return plan;
}

void set_bend(Plan& plan, const ToneBend& bend, const PictureRange& range) {
  plan.bend = bend;
  if (bend.enabled == 0) plan.corners = {};
  float colour[kMaxChannels] = {};
  for (int32_t c = 0; c < plan.channels; ++c) {
    const float mean = std::clamp(range.mean[c], -kWidest, kWidest);
    colour[c] = bend.enabled != 0 ? bent(bend, mean) : mean;
  }
  plan.hidden[0] = colour[0];
  if (plan.channels == 1) return;
  const Yuv yuv = yuv_from_rgb({colour[0], colour[1], colour[2]});
  plan.hidden[0] = yuv.y;
  plan.hidden[1] = yuv.u;
  plan.hidden[2] = yuv.v;
}

}  // namespace grainless
