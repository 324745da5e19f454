// SPDX-License-Identifier: MIT
#include "toned_noise.h"

#include "engine/boundary/pixel_math.h"
#include "engine/params/tone_strength.h"

namespace grainless {
namespace {

// Mean of what a segment's slope is divided by: the strength varies within it.
double mean_inverse(const Params& params, int32_t segment) {
  constexpr int32_t kParts = 8;
  double sum = 0;
  for (int32_t i = 0; i < kParts; ++i) {
    const double at = segment + (i + 0.5) / kParts;
    sum += 1 / tone_strength(params, at * 255 / kBendSegments);
  }
  return sum / kParts;
}

}  // namespace

ToneBend enabled_bend(const ToneBend& bend) {
  ToneBend result = bend;
  if (bend.enabled != 0) return result;
  result.enabled = 1;
  for (int32_t i = 0; i <= kBendSegments; ++i) result.to[i] = static_cast<float>(i) * kBendStep;
  return result;
}

PictureNoise toned_noise(const Params& params, const PictureNoise& noise) {
  if (!has_tone_strength(params)) return noise;
  const ToneBend before = enabled_bend(noise.bend);
  double to[kBendSegments + 1] = {};
  for (int32_t i = 0; i < kBendSegments; ++i) {
    to[i + 1] = to[i] + (double{before.to[i + 1]} - before.to[i]) * mean_inverse(params, i);
  }
  // Noise that is even in colours bent before is `scale` times as strong, and even, after.
  const double scale = 255 / to[kBendSegments];
  PictureNoise toned = noise;
  toned.bend.enabled = 1;
  for (int32_t i = 0; i <= kBendSegments; ++i) {
    toned.bend.to[i] = static_cast<float>(scale * to[i]);
  }
  for (int32_t l = 0; l < noise.levels; ++l) {
    for (int32_t c = 0; c < noise.channels; ++c) {
      toned.sigma[l][c] = static_cast<float>(scale * noise.sigma[l][c]);
    }
  }
  // What a method compares are bent colours; range.mean stays, which set_bend() bends.
  toned.range.low = bent(toned.bend, noise.range.low);
  toned.range.middle = bent(toned.bend, noise.range.middle);
  toned.range.high = bent(toned.bend, noise.range.high);
  return toned;
}

}  // namespace grainless
