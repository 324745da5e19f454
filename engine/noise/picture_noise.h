// SPDX-License-Identifier: MIT
// What is known of the noise of a picture, or of each layer of a stack.
#pragma once

#include <cstdint>
#include <string>

#include "engine/boundary/corner_gain.h"
#include "engine/boundary/pixels.h"
#include "engine/boundary/tone_bend.h"

namespace grainless {

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

// Standard deviations of the noise, in 8-bit steps of the perceptual encoding: one for each channel
// of the orthonormal luma/chroma space (engine/boundary/pixel_math.h: white RGB noise has the same
// sigma in all three) and level of resolution. A level is the mean of 2 × 2 pixels of the one
// before, so that the sigma of white noise halves from level to level.
struct PictureNoise {
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
  Impulses impulses = Impulses::kNone;  // to be replaced by ImpulseWay::kAuto
  PictureRange range;  // of the whole picture (picture_range.h): what patches are compared by
};

// Whether the noise was surely measured, and is white in all channels.
bool surely_white(const PictureNoise& noise);

// Sigma of one of R, G and B, on average: lightness and chroma are orthonormal.
double colour_sigma(const PictureNoise& noise);

// Sigma of a channel of the unbent colours at a brightness of 0..255: that of the bent colours,
// divided by the slope of the curve there.
float sigma_at(const PictureNoise& noise, int32_t channel, float brightness);

// How many times as strong the noise is in the picture's corners as in its middle.
float in_corners(const PictureNoise& noise);

// The same noise at 1/2^reduction of the resolution. Where it was not measured at such a level, it
// is taken for white, which halves from level to level.
PictureNoise noise_at_level(const PictureNoise& noise, int32_t reduction);

// The same for any sigma of which so many levels are known.
void reduce_sigma(const float (&sigma)[kMaxLevels][kMaxChannels], int32_t known, int32_t reduction,
                  float (&reduced)[kMaxLevels][kMaxChannels]);

}  // namespace grainless
