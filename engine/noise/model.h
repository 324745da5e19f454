// SPDX-License-Identifier: MIT
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

// A smaller sigma is none: a tenth of what float can tell apart at mid grey, whose squares stay
// normal numbers all through the filters.
inline constexpr double kLeastSigma = 1e-6;

// What an automatic measurement looks for.
enum class NoiseKind : int32_t {
  kSure = 0,    // what can be told from texture; where it can't, nothing is damaged
  kCamera = 1,  // coarse noise as camera JPEGs have it, even where texture looks the same
};

// Impulses (engine/boundary/impulse.h) that a whole picture shows.
enum class Impulses : int32_t {
  kNone = 0,  // or hardly any, or what may be the picture's own
  kFew = 1,   // as sensors have them: single ones
  kMany = 2,  // so many that pairs of them are common
};

// "none", "few", "many": for programs.
const char* impulses_id(Impulses impulses);

// How sure a measurement of the noise is.
enum class Confidence : int32_t {
  kMeasured = 0,
  kLittle = 1,    // little or no noise: what sigma says takes next to nothing from the picture
  kUnsure = 2,    // texture or noise? sigma is the smaller of what speaks for either
  kTooSmall = 3,  // there are not enough pixels that show noise
};

// "measured", "little", "unsure", "too-small": for programs.
const char* confidence_id(Confidence confidence);
// For people: "unsure: texture or noise?".
std::string confidence_text(Confidence confidence);

// Which values a picture's colours have, in 8-bit steps, but for a thousandth at either end and for
// single pixels. Usual pictures keep to about black..white and are all taken to have these values.
struct PictureRange {
  float low = 0, middle = 127.5f, high = 255;
  // The colour that stands for pixels far from all visible ones: the visible ones' mean.
  float mean[kMaxChannels] = {};

  bool is_usual() const { return low >= kLeastUsual && high <= kMostUsual; }
  static constexpr float kLeastUsual = -127.5f, kMostUsual = 382.5f;
};

inline constexpr int32_t kBetweenLevels = 3;    // of resolution that layers are compared at
inline constexpr int32_t kAllLayers = 1 << 16;  // more than any stack is averaged of

// What still layers of a stack differ by in most places, over the root of 2: as strong as the
// noise, also where it looks like texture in each layer, or is stronger in texture than elsewhere.
struct LayerDifference {
  bool known = false;
  // Sigma and tones tell layers apart in place of NoiseModel::sigma, which was given. They are what
  // layers differ by or, without `known`, what each layer shows.
  bool instead = false;
  float share[kMaxChannels] = {1, 1, 1};  // of what the mean of such layers removes that is taken
  bool in_sharpness = false;   // some layers are sharper: what is more than noise counts in full
  int32_t reach = kAllLayers;  // how many layers on either side differ little enough to be averaged
  float sigma[kMaxLevels][kMaxChannels] = {};  // as NoiseModel's, of kBetweenLevels
  float tones[kNoiseTones] = {};               // variance over that of sigma, as NoiseModel's
  float flat[kNoiseTones] = {};  // the same of flat parts, whose differences are noise; 0: not told
};

// Of what a picture filter takes out of the mean of still layers: the share that is noise, the rest
// being the picture's own (engine/mean_shares.h).
struct MeanShares {
  int32_t layers = 0;  // in the largest mean that was looked at; 0: none, all is taken for noise
  float of_one[kMaxChannels] = {1, 1, 1}, of_two[kMaxChannels] = {1, 1, 1};
  float of_all[kMaxChannels] = {1, 1, 1};
};
// Of Method::kBm3d and kNlm, which denoise stacks.
inline constexpr int32_t kStackMethods = 2;

// How strong the noise of each layer of a stack is, where layers clearly differ in it.
struct LayerStrengths {
  int32_t count = 0;             // of layers, which are all; 0: all hold the same
  float of[kMostMeasured] = {};  // sigma over NoiseNumbers::sigma

  // Of a layer of a stack of so many.
  float at(int32_t z, int32_t layers) const { return layers == count ? of[z] : 1.0f; }
  float most() const;  // of the noisiest layer
  // Of some layers that follow each other.
  LayerStrengths part(int32_t first, int32_t layers) const;
};

// How Non-Local Means takes a stack, where both ways were tried (engine/stack_trial.h).
enum class NlmWay : int32_t { kUntold, kAverage, kSearch };

// The noise of colours that are bent so that it is even, as each layer of a stack surely shows it.
struct EvenNoise {
  bool known = false;
  ToneBend bend;
  float sigma[kMaxLevels][kMaxChannels] = {};
  bool white[kMaxChannels] = {};
  float strength[kMaxChannels] = {};
};

// Standard deviation of the noise, in 8-bit steps of the perceptual encoding, a channel of the
// orthonormal luma/chroma space (engine/boundary/pixel_math.h: white RGB noise has the same sigma
// in all three) and a level of resolution. White noise halves from level to level when a level is
// the mean of 2 × 2 pixels of the one before.
struct NoiseNumbers {
  int32_t channels = 0;   // 1 or 3
  int32_t levels = 0;     // how many rows of sigma are known; at least 1
  int32_t reduction = 0;  // by which the resolution was halved since it was measured
  float sigma[kMaxLevels][kMaxChannels] = {};
  // False: demosaicing, noise reduction or JPEG took the finest detail out of the noise.
  bool white[kMaxChannels] = {true, true, true};
  // What a filter should multiply sigma by: a patch of correlated noise holds few independent
  // values, and looks more like signal than a patch of white noise of the same sigma.
  float strength[kMaxChannels] = {1, 1, 1};
  Confidence confidence = Confidence::kMeasured;
  // Perhaps a camera's coarse noise, which colour hardly shows. Film grain is such, too.
  bool like_grain = false;
  // A camera's coarse noise, which much of may be texture: that shows in a filter that finds many
  // patches alike.
  bool like_texture = false;
  // What isn't white was, before the picture was straightened, resized or smoothed.
  bool was_white = false;
  // Chroma follows from luma (neutral.h) and tells no more of what is alike.
  bool toned = false;
  // Where the noise changes towards the corners: sigma is that of the picture's middle.
  CornerGain corners;
  // What makes the noise even; sigma is that of bent colours.
  ToneBend bend;
  BlackLift lift;                       // of a stack of layers, for bend.lift
  Impulses impulses = Impulses::kNone;  // that ImpulseWay::kAuto replaces
  PictureRange range;  // of the whole picture (picture_range.h): what patches are compared by
  // Of a stack of still layers, which shows it (still_noise.h): variance over sigma^2 in each
  // sixteenth of the brightness range, and their root mean over all noise.
  float tones[kNoiseTones] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  float unevenness = 1;
  int32_t told_tones = 0;      // of them that are told; without any they are 1
  bool doubted_tones = false;  // what tells them says less than a sure curve of each layer
  // The same by which layers are told apart: of what has not moved, or what each layer surely
  // shows.
  float layer_tones[kNoiseTones] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  // The layers surely stand still: what they differ by is noise, wherever it is.
  bool still = false;
  LayerDifference between;
  EvenNoise alone;
  MeanShares means[kStackMethods];
  NlmWay nlm_way = NlmWay::kUntold;
  // Each layer alone comes nearer to its scene than the mean of those that seem to show the same.
  bool apart[kStackMethods] = {};
  // Layers as they are come nearer to it than those whose motion is followed.
  bool unfollowed[kStackMethods] = {};
  // Of a stack without strengths: those layers (a bit each) that surely hold far less than most
  // (calm_layers.h).
  uint32_t calm = 0;
  static_assert(kMostMeasured <= 32);
  // With these, 1 / sigma^2 is the mean of that of the layers: of n layers, weighted by it, the
  // mean holds sigma / sqrt(n).
  LayerStrengths strengths;
  LayerPlaces places;  // of a stack whose layers lie far from each other (engine/registration.h)
};

struct LoneLayers;

struct NoiseModel : NoiseNumbers {
  std::shared_ptr<const LoneLayers> lone;  // of a stack in which some layer is (lone_layers.h)
};

// Layers of a stack that show next to nothing that others do, and what each of them holds.
struct LoneLayers {
  std::vector<std::optional<NoiseModel>> noise;  // of each layer, all of them; none: it isn't lone
};

// The noise of a layer, of so many, that is denoised as a picture of its own; null of one that
// isn't, and of stacks of other numbers of layers than the measured one.
const NoiseModel* lone_noise(const NoiseModel& stack, int32_t layer, int32_t layers);

// What one of a stack's layers holds, of so many: a lone one's own noise, or the stack's, as strong
// as it is there.
NoiseModel noise_of_layer(const NoiseModel& stack, int32_t layer, int32_t layers);

// Changes that of each lone layer.
void change_lone(NoiseModel& stack, const std::function<void(NoiseModel&)>& change);

// Measured for sure, and white in all channels.
bool surely_white(const NoiseModel& noise);

// Sigma of a channel in colours as they are, at a brightness 0..255: that of bent colours over the
// curve's slope there.
float sigma_at(const NoiseModel& noise, int32_t channel, float brightness);

// The same noise, seen at 1/2^reduction of the resolution. Where it was not measured there it is
// taken for white, which halves from level to level.
NoiseModel noise_at_level(const NoiseModel& noise, int32_t reduction);

// How many times as strong as in the picture's middle the noise is in its corners.
float in_corners(const NoiseModel& noise);

// What to say of the noise that is taken out of layers: of those that show none alone and are
// averaged all the same, what they differ by; where lone ones hold more noise, that.
NoiseModel told_noise(const NoiseModel& noise);

inline NoiseModel white_noise(int32_t channels, float sigma) {
  NoiseModel noise;
  noise.channels = channels;
  noise.levels = 1;
  for (int32_t c = 0; c < channels; ++c) noise.sigma[0][c] = sigma;
  return noise;
}

}  // namespace grainless
