// SPDX-License-Identifier: MIT
// What makes one layer of a stack out of several that show the same: each pixel becomes the mean of
// those layers of its window whose surroundings differ by no more than their noise. It comes before
// a filter for pictures, which finds the noise that is left (stack.h).
//
// Of a layer v and another one u, level l of the difference d = v - u being the mean of
// 2^l x 2^l pixels (engine/boundary/pyramid.h), with sigma the noise of that level and channel,
//     D(x) = mean over a box round x, and over the channels, of d_l^2 / (2 sigma^2)
// is 1 for noise alone, sigma^2 being that of the pixel's tone where it is known, and of layers
// whose noise differs in strength the mean of both. Small boxes see where something has moved;
// large ones, and coarse levels, see what differs by less than a pixel's noise, as texture moved by
// a pixel does. The layer's weight is the least that the kFusionTests give, (alike - D) / (alike -
// same) within 0 and 1. Where it is invalid, or in all of the 7 x 7 pixels exactly what the layer
// before it (on the way from v) is, it says nothing new and weighs nothing: frames are held, and
// borders transparent. Noisier layers weigh less, by their variance.
//
// Of layers that don't stand still and surely show noise, u is first brought to where v shows the
// same, block by block (engine/cpu/volume/motion_field.h).
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

// What of a layer moves is found up to so far away along either axis, in whole pixels, from where
// the layers' places say that it is; with what is left for finer resolutions it is displaced from
// there by no more than kMotionMost, and that depends on what lies within kMotionReach.
inline constexpr int32_t kMotionSearch = 16, kMotionMost = 24, kMotionReach = 175;

// What tells layers apart, of a level 0..kFusionLevels - 1 and a channel, and of a tone.
LayerDifference told_apart_by(const NoiseModel& noise);

// Whether what moves between layers is followed. Not where they stand still, nor where they may be
// clean: then they differ by what they show.
bool follows_motion(const NoiseModel& noise);

struct FusionPlan {
  int32_t channels, depth;
  ValueRange valid;  // as in Plan, as is hidden
  float hidden[kMaxChannels];
  CornerGain corners;  // of the layers, as in Plan; all planes are over it
  ToneBend bend;       // of nothing, without which there are no corners
  int32_t levels;
  // 1 / (2 sigma^2 channels): what a squared difference adds to D.
  float gain[kFusionLevels][kMaxChannels];
  // What d^2 is multiplied by, by the brightness of v and u at the coarsest level: sigma^2 over the
  // tone's.
  float tones[kNoiseTones];
  float tone_scale;  // tone per step of luma
  // How much of what the mean removes is taken: less than 1 where less strength is asked for.
  float taken[kMaxChannels];

  // How many layers as noisy as layer z all that it is averaged with are worth.
  double worth(int32_t z, int32_t layers) const;

  bool follows;           // what moves
  float followed_share;   // of D that counts where all round a pixel moves as it does
  float motion_sigma[2];  // luma's noise at a half and a quarter of the resolution
  LayerPlaces places;     // as in NoiseModel
  LayerStrengths strengths;

  // The noise's variance in a layer of so many, over that of NoiseModel::sigma.
  float variance(int32_t z, int32_t layers) const {
    const float strength = strengths.at(z, layers);
    return strength * strength;
  }

  // Pixels round one that its weights depend on in a layer that stands still: the margin, and the
  // rest of its own pixel there.
  int32_t still_reach() const { return ((kFusionMargin + 1) << (levels - 1)) - 1; }
  // The same of all layers.
  int32_t reach() const;
};

// params must be valid.
FusionPlan make_fusion_plan(const Params& params, int32_t depth, int32_t channels,
                            const NoiseModel& noise);

// Whether other layers' pixels may change a layer at all; without its lightness: its colours.
bool fuses_anything(const FusionPlan& plan, bool lightness);

// Sigma of what is left of noise of sigma 1 when the mean of `count` independent layers takes that
// share.
double fused_sigma(double share, double count);

}  // namespace grainless
