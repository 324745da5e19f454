// SPDX-License-Identifier: MIT
// One case of the sweep: every parameter of the one table, and the picture it is tried on. As text
// it is a line of key=value words, those that stand at their defaults left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/boundary/corner_gain.h"
#include "engine/boundary/pixels.h"
#include "engine/boundary/tone_bend.h"
#include "engine/params/params.h"
#include "tests/support/test_images.h"

namespace grainless::sweep {

// Values so many times white are the largest of a picture, but for single ones.
inline constexpr float kMostWhite = 20.0f;
// From here on, in steps, a value is a single one that fills no picture.
inline constexpr float kFar = 1e6f;

enum class Content : int32_t {
  kPhotograph,
  kConstant,
  kBlack,
  kWhite,
  kGradient,
  kCheckerboard,
  kPixel,  // a single one
  kLines,
  kNoise,
};
// 0..1, beyond it, denormal numbers, and 0..1 with some values beyond measure.
enum class Range : int32_t { kUsual, kWide, kTiny, kFar };
inline constexpr Range kLastDrawn = Range::kFar;
enum class Alpha : int32_t { kOpaque, kHoles, kMixed, kClear };
// What stands round the picture, without any noise.
enum class Frame : int32_t { kNone, kBlack, kWhite, kColour };
// What a program has made of a grey picture and its noise: colours that follow from it.
enum class Toning : int32_t { kNone, kEqual, kScaled, kSepia };

struct Draw {
  Params params;
  int32_t width = 32, height = 32;
  int32_t layers = 0;  // of a volume; 0: a picture
  PixelFormat format{Component::kFloat, 1};
  int32_t padding = 0;  // bytes after a row
  int32_t content = 0, range = 0, alpha = 0, frame = 0, toning = 0;
  int32_t spoiled = 0;  // pixels that are not numbers
  int32_t bend = 0;     // of tones, 0..100: see noise_bend()
  int32_t corners = 0;  // what the noise grows by towards them, 0..100: see noise_corners()
  double noise = 0;     // the word "grain": of the picture, whatever the parameters say
  int32_t seed = 1;     // of what is random in it
};

Draw make_draw(uint64_t seed);

std::string text_of(const Draw& draw);
// Nothing, with the reason in `why`, where a word is none.
std::optional<Draw> parse(std::string_view text, std::string& why);

// A curve like that of a camera's noise, the more of it the higher `bend`; 0: none.
ToneBend noise_bend(int32_t bend);

// From corners of a third to those of five times the middle's noise; 0: none.
CornerGain noise_corners(int32_t corners);

// The picture, or the layers of the volume.
std::vector<test::TestImage> pictures_of(const Draw& draw);

}  // namespace grainless::sweep
