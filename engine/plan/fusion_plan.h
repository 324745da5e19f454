// SPDX-License-Identifier: MIT
// Averages the layers of a stack that show the same: each pixel becomes the mean of those layers of
// its window whose surroundings differ by no more than their noise. A filter for pictures then
// removes the noise that is left (stack.h).
//
// Let v be a layer, u another one, and d_l level l of their difference v - u, the mean of
// 2^l x 2^l pixels (engine/boundary/pyramid.h), whose noise is sigma in that level and channel.
// Then
//     D(x) = mean over a box round x, and over the channels, of d_l^2 / (2 sigma^2)
// is 1 for noise alone. Where it is known, sigma^2 is that of the pixel's tone; for layers of
// different noise it is the mean of both. Small boxes show what has moved; large ones, and coarse
// levels, show what differs by less than the noise of a pixel, as texture does that moved by one.
// The weight of u is the smallest of those that the kFusionTests give: (alike - D) / (alike -
// same), within 0 and 1. It is 0 where u is invalid, and where it equals the layer before it (on
// the way from v) in all of the 7 x 7 pixels, and so says nothing new: held frames, transparent
// borders. Noisier layers weigh less, by their variance.
//
// Where layers don't stand still and surely show noise, u is first aligned with v, block by block
// (engine/cpu/volume/motion_field.h).
#pragma once

#include <cstdint>

#include "engine/boundary/pixels.h"
#include "engine/boundary/plan.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"

namespace grainless {

inline constexpr int32_t kFusionLevels = kBetweenLevels;

struct FusionTest {
  int32_t level, radius;  // box: 2 radius + 1 pixels of the level a side
  float same, alike;
};
// The more pixels a box has, the less its D varies with the noise. With these, photographs that
// move by one to nine pixels between layers, at sigma 15 and 30, lose at most 0.03 dB to each layer
// alone (docs/quality.md).
inline constexpr FusionTest kFusionTests[] = {
    {0, 3, 1.5f, 2.2f},   {1, 3, 1.5f, 2.2f},    {2, 3, 1.4f, 2.0f},  {0, 15, 1.06f, 1.14f},
    {1, 7, 1.12f, 1.25f}, {1, 15, 1.07f, 1.15f}, {2, 7, 1.13f, 1.27f}};
// Pixels of the coarsest level that hold the largest box of any level.
inline constexpr int32_t kFusionMargin = 8;
inline constexpr int32_t kRepeatRadius = 3;

// Motion is searched by up to kMotionSearch whole pixels along either axis, from where the layers'
// places say that the content is. With what finer resolutions add, it is displaced from there by
// at most kMotionMost pixels, and depends on what lies within kMotionReach pixels.
inline constexpr int32_t kMotionSearch = 16, kMotionMost = 24, kMotionReach = 175;

// The sigmas by which layers are compared, for each level 0..kFusionLevels - 1 and channel, and the
// tones.
LayerDifference told_apart_by(const NoiseModel& noise);

// Whether motion between layers is followed. It isn't where they stand still, nor where they may be
// clean, since then any difference belongs to the pictures.
bool follows_motion(const NoiseModel& noise);

struct FusionPlan {
  int32_t channels, depth;
  ValueRange valid;  // as in Plan, as is hidden
  float hidden[kMaxChannels];
  CornerGain corners;  // of the layers, as in Plan; all planes are divided by it
  ToneBend bend;       // the identity; corners need one
  int32_t levels;
  // 1 / (2 sigma^2 channels): what a squared difference adds to D.
  float gain[kFusionLevels][kMaxChannels];
  // The factor of d^2 for the brightness of v and u at the coarsest level: sigma^2 divided by the
  // variance of that tone.
  float tones[kNoiseTones];
  float tone_scale;  // tone per step of luma
  // The share of what the mean removes that is removed: below 1 where a lower strength is asked
  // for.
  float taken[kMaxChannels];

  // How many layers as noisy as layer z the layers of its window are worth.
  double worth(int32_t z, int32_t layers) const;

  bool follows;           // follows_motion()
  float followed_share;   // of D, that counts where everything round a pixel moves as it does
  float motion_sigma[2];  // luma's noise at a half and a quarter of the resolution
  LayerPlaces places;     // as in StackNoise
  LayerStrengths strengths;

  // The variance of the noise in layer z of `layers`, divided by that of PictureNoise::sigma.
  float variance(int32_t z, int32_t layers) const {
    const float strength = strengths.at(z, layers);
    return strength * strength;
  }

  // How far round a pixel its weight in a still layer depends on others: the margin, and the rest
  // of the coarse pixel that holds it.
  int32_t still_reach() const { return ((kFusionMargin + 1) << (levels - 1)) - 1; }
  // The same in any layer.
  int32_t reach() const;
};

// params must be valid.
FusionPlan make_fusion_plan(const Params& params, int32_t depth, int32_t channels,
                            const NoiseModel& noise);

// Whether other layers may change a layer at all; with lightness false: its colours.
bool fuses_anything(const FusionPlan& plan, bool lightness);

// What is left of noise of sigma 1 when `share` of what the mean of `count` independent layers
// removes is removed.
double fused_sigma(double share, double count);

}  // namespace grainless
