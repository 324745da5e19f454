// SPDX-License-Identifier: MIT
// What only a stack of layers shows of its noise, and of what the layers have in common.
#pragma once

#include <cstdint>

#include "engine/boundary/pixels.h"
#include "engine/boundary/tone_bend.h"
#include "similarity.h"

namespace grainless {

inline constexpr int32_t kNoiseTones = 16;
inline constexpr int32_t kBetweenLevels = 3;    // levels of resolution at which layers are compared
inline constexpr int32_t kAllLayers = 1 << 16;  // more than any stack averages

// What still layers of a stack differ by in most places, divided by the root of 2. It is the
// strength of the noise even where each layer alone could hold texture, or where noise is stronger
// in texture than elsewhere.
struct LayerDifference {
  bool known = false;
  // Layers are compared by this sigma and these tones, not by PictureNoise::sigma, which was given.
  // They are what the layers differ by or, unless `known`, what each layer shows.
  bool instead = false;
  float share[kMaxChannels] = {1, 1, 1};  // of what their mean removes, the share that is applied
  bool in_sharpness = false;   // some layers are sharper: a difference beyond noise counts in full
  int32_t reach = kAllLayers;  // so many layers on either side are alike enough to be averaged
  float sigma[kMaxLevels][kMaxChannels] = {};  // as PictureNoise's, of kBetweenLevels
  // Variance over that of sigma, as StackNoise's. 1 where too few blocks tell any tone's.
  float tones[kNoiseTones] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  float flat[kNoiseTones] = {};  // the same in flat parts, whose differences are noise; 0: unknown
};

// Which share of what a filter removes from the mean of still layers is noise; the rest belongs to
// the picture (engine/mean_shares.h).
struct MeanShares {
  // Of the largest mean that was examined; 0: none was, and all of it counts as noise.
  int32_t layers = 0;
  float of_one[kMaxChannels] = {1, 1, 1}, of_two[kMaxChannels] = {1, 1, 1};
  float of_all[kMaxChannels] = {1, 1, 1};
};
// The methods that denoise stacks: Method::kBm3d and kNlm, which index arrays of this size.
inline constexpr int32_t kStackMethods = 2;

// How strong the noise of each layer of a stack is, where layers clearly differ in it.
struct LayerStrengths {
  int32_t count = 0;             // of all layers; 0: all hold the same noise
  float of[kMostMeasured] = {};  // sigma over PictureNoise::sigma

  // Of layer z in a stack of `layers`.
  float at(int32_t z, int32_t layers) const { return layers == count ? of[z] : 1.0f; }
  float most() const;  // of the noisiest layer
  // Of consecutive layers.
  LayerStrengths part(int32_t first, int32_t layers) const;
};

// How Non-Local Means treats a stack, where both ways were tried (engine/stack_trial.h).
enum class NlmWay : int32_t { kUntold, kAverage, kSearch };

// The noise that each layer of a stack surely shows, of colours that are bent so that it is even.
struct EvenNoise {
  bool known = false;
  ToneBend bend;
  float sigma[kMaxLevels][kMaxChannels] = {};
  bool white[kMaxChannels] = {};
  float strength[kMaxChannels] = {};
};

// As it stands here it says nothing: of a picture, or of layers that have nothing in common.
struct StackNoise {
  // Of still layers that show it (still_noise.h): variance divided by sigma^2 in each sixteenth of
  // the brightness range, and the root of their mean over all noise.
  float tones[kNoiseTones] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  float unevenness = 1;
  int32_t told_tones = 0;      // how many of them are known; where none is, all are 1
  bool doubted_tones = false;  // their evidence is weaker than a sure curve of each layer
  ClipCurve clip;              // of the curve that tones or `alone` give (evened_noise())
  // Of noise that is even but where it was cut off. Layers are compared, averaged and filtered as
  // they are, and results led back.
  ClipCurve even_clip;
  // The same as `tones` for comparing layers: from what has not moved, or from what each layer
  // surely shows.
  float layer_tones[kNoiseTones] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  // The layers surely stand still: any difference is noise, wherever it is.
  bool still = false;
  LayerDifference between;
  EvenNoise alone;
  MeanShares means[kStackMethods];
  NlmWay nlm_way = NlmWay::kUntold;
  // Each layer alone comes nearer to the scene than the mean of those that seem to show the same.
  bool apart[kStackMethods] = {};
  // The layers as they are come nearer to the scene than with their motion followed.
  bool unfollowed[kStackMethods] = {};
  // Without `strengths`: the layers (one bit each) that surely hold far less noise than most
  // (calm_layers.h).
  uint32_t calm = 0;
  static_assert(kMostMeasured <= 32);
  // With these, 1 / sigma^2 is the mean of the layers' 1 / sigma^2, so that the weighted mean of n
  // layers holds sigma / sqrt(n).
  LayerStrengths strengths;
  LayerPlaces places;  // of a stack whose layers are far apart (engine/registration.h)
};

}  // namespace grainless
