// SPDX-License-Identifier: MIT
// What is known of the noise of a picture or of a stack of layers: what a measurement finds, and
// what a plan is made from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/boundary/corner_gain.h"
#include "engine/boundary/pixels.h"
#include "engine/boundary/tone_bend.h"
#include "similarity.h"

namespace grainless {

inline constexpr int32_t kNoiseTones = 16;

// A smaller sigma counts as none. It is a tenth of what float can tell apart at mid grey, and large
// enough for its square to stay a normal number in all filters.
inline constexpr double kLeastSigma = 1e-6;

// What an automatic measurement looks for.
enum class NoiseKind : int32_t {
  kSure = 0,    // noise that can be told from texture; else so little that nothing is damaged
  kCamera = 1,  // the coarse noise of camera JPEGs, too, even where texture looks the same
};

// How many impulses (engine/boundary/impulse.h) a whole picture shows.
enum class Impulses : int32_t {
  kNone = 0,  // none, hardly any, or such as may belong to the picture
  kFew = 1,   // single ones, as from a sensor
  kMany = 2,  // so many that pairs are common
};

// "none", "few", "many": for programs.
const char* impulses_id(Impulses impulses);

// How sure a measurement of the noise is.
enum class Confidence : int32_t {
  kMeasured = 0,
  kLittle = 1,    // little or no noise: a filter with this sigma removes next to nothing
  kUnsure = 2,    // texture or noise? sigma is the smaller of the two possible values
  kTooSmall = 3,  // too few pixels that show noise
};

// "measured", "little", "unsure", "too-small": for programs.
const char* confidence_id(Confidence confidence);
// For people: "unsure: texture or noise?".
std::string confidence_text(Confidence confidence);

// The range of a picture's colour values, in 8-bit steps, without a thousandth of them at either
// end and without single pixels. Usual pictures stay near black..white, and all have the default
// range.
struct PictureRange {
  float low = 0, middle = 127.5f, high = 255;
  // The mean of the visible pixels, which stands in for hidden ones that are far from all others.
  float mean[kMaxChannels] = {};

  bool is_usual() const { return low >= kLeastUsual && high <= kMostUsual; }
  static constexpr float kLeastUsual = -127.5f, kMostUsual = 382.5f;
};

inline constexpr int32_t kBetweenLevels = 3;    // levels of resolution at which layers are compared
inline constexpr int32_t kAllLayers = 1 << 16;  // more than any stack averages

// What still layers of a stack differ by in most places, divided by the root of 2. It is the
// strength of the noise even where each layer alone could hold texture, or where noise is stronger
// in texture than elsewhere.
struct LayerDifference {
  bool known = false;
  // Layers are compared by this sigma and these tones, not by NoiseModel::sigma, which was given.
  // They are what the layers differ by or, unless `known`, what each layer shows.
  bool instead = false;
  float share[kMaxChannels] = {1, 1, 1};  // of what their mean removes, the share that is applied
  bool in_sharpness = false;   // some layers are sharper: a difference beyond noise counts in full
  int32_t reach = kAllLayers;  // so many layers on either side are alike enough to be averaged
  float sigma[kMaxLevels][kMaxChannels] = {};  // as NoiseModel's, of kBetweenLevels
  float tones[kNoiseTones] = {};               // variance over that of sigma, as NoiseModel's
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
  float of[kMostMeasured] = {};  // sigma over NoiseNumbers::sigma

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

// Standard deviations of the noise, in 8-bit steps of the perceptual encoding: one for each channel
// of the orthonormal luma/chroma space (engine/boundary/pixel_math.h: white RGB noise has the same
// sigma in all three) and level of resolution. A level is the mean of 2 × 2 pixels of the one
// before, so that the sigma of white noise halves from level to level.
struct NoiseNumbers {
  int32_t channels = 0;   // 1 or 3
  int32_t levels = 0;     // how many rows of sigma are known; at least 1
  int32_t reduction = 0;  // how often the resolution was halved since the measurement
  float sigma[kMaxLevels][kMaxChannels] = {};
  // False: demosaicing, noise reduction or JPEG took the finest detail out of the noise.
  bool white[kMaxChannels] = {true, true, true};
  // A filter should multiply sigma by this: a patch of correlated noise holds few independent
  // values, and looks more like signal than a patch of white noise with the same sigma.
  float strength[kMaxChannels] = {1, 1, 1};
  Confidence confidence = Confidence::kMeasured;
  // Perhaps the coarse noise of a camera, which hardly shows in the colours. Film grain is such,
  // too.
  bool like_grain = false;
  // The coarse noise of a camera, much of which may be texture: a filter that averages many similar
  // patches would show the loss.
  bool like_texture = false;
  // The noise was white before the picture was straightened, resized or smoothed.
  bool was_white = false;
  // Chroma follows from luma (neutral.h), and adds nothing to a comparison of patches.
  bool toned = false;
  // Where the noise changes towards the corners: sigma is that of the picture's middle.
  CornerGain corners;
  // The curve that makes the noise even; sigma is that of the bent colours.
  ToneBend bend;
  BlackLift lift;                       // of a stack of layers, for bend.lift
  Impulses impulses = Impulses::kNone;  // to be replaced by ImpulseWay::kAuto
  PictureRange range;  // of the whole picture (picture_range.h): what patches are compared by
  // Of a stack of still layers that shows it (still_noise.h): variance divided by sigma^2 in each
  // sixteenth of the brightness range, and the root of their mean over all noise.
  float tones[kNoiseTones] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  float unevenness = 1;
  int32_t told_tones = 0;      // how many of them are known; where none is, all are 1
  bool doubted_tones = false;  // their evidence is weaker than a sure curve of each layer
  // The same for comparing layers: from what has not moved, or from what each layer surely shows.
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

struct LoneLayers;

struct NoiseModel : NoiseNumbers {
  std::shared_ptr<const LoneLayers> lone;  // null unless a stack has lone layers (lone_layers.h)
};

// The layers of a stack that show next to nothing of what others show, and the noise of each.
struct LoneLayers {
  std::vector<std::optional<NoiseModel>>
      noise;  // for each layer of the stack; empty: it isn't lone
};

// The noise of a layer that is denoised as a picture of its own. Null where the layer isn't, or
// where `layers`, the number of layers, is not that of the measured stack.
const NoiseModel* lone_noise(const NoiseModel& stack, int32_t layer, int32_t layers);

// The noise of one layer of a stack of `layers`: a lone layer's own, or the stack's with the
// strength that it has there.
NoiseModel noise_of_layer(const NoiseModel& stack, int32_t layer, int32_t layers);

// Applies `change` to the noise of each lone layer.
void change_lone(NoiseModel& stack, const std::function<void(NoiseModel&)>& change);

// Whether the noise was surely measured, and is white in all channels.
bool surely_white(const NoiseModel& noise);

// Sigma of a channel of the unbent colours at a brightness of 0..255: that of the bent colours,
// divided by the slope of the curve there.
float sigma_at(const NoiseModel& noise, int32_t channel, float brightness);

// The same noise at 1/2^reduction of the resolution. Where it was not measured at such a level, it
// is taken for white, which halves from level to level.
NoiseModel noise_at_level(const NoiseModel& noise, int32_t reduction);

// How many times as strong the noise is in the picture's corners as in its middle.
float in_corners(const NoiseModel& noise);

// The noise to report for a stack: where layers that show none alone are averaged all the same,
// what they differ by; where lone layers hold more noise, theirs.
NoiseModel told_noise(const NoiseModel& noise);

inline NoiseModel white_noise(int32_t channels, float sigma) {
  NoiseModel noise;
  noise.channels = channels;
  noise.levels = 1;
  for (int32_t c = 0; c < channels; ++c) noise.sigma[0][c] = sigma;
  return noise;
}

}  // namespace grainless
