// SPDX-License-Identifier: MIT
// Scales of match values (engine/boundary/pixel_math.h: match_value), which every method's plan
// sets.
//
// Match values are integers of limited size, so a picture's range and the finest difference that
// counts, a share of its noise, trade off. Usual pictures (PictureRange::is_usual) have one curve:
// linear to half a picture's width beyond black and white, compressed outside, where few pixels
// are. Of all others the whole range is linear, with as many values a sigma as fit. Where that
// would be too few to tell noise from structure (noise of less than a thousandth of the range), the
// range is cut, round the picture's middle: pixels outside, whose noise is as little of their
// value, are left as they are.
#pragma once

#include <cstdint>

#include "engine/boundary/pixels.h"
#include "engine/noise/model.h"

namespace grainless {

// No colour value beyond it takes part: every sum of those that do stays a float, bent or not. The
// longest are what stands for a hidden pixel (289 lumas) and the mean of a group's transform (1,664
// times a value).
inline constexpr double kWidestValue = 1e34;

// The colour values that are compared.
struct MatchSpan {
  bool usual = true;
  double low = 0, high = 255;
  // What a step of a usual picture is here: tables that go by sigma go by sigma / unit. Not 1 where
  // the noise is stronger than anybody can ask for, which is measurements' in other units.
  double unit = 1;

  double middle() const { return (low + high) / 2; }
  double half() const { return (high - low) / 2; }
  // The same with another half, which lies in this one, as near to `middle` as can be.
  MatchSpan cut_to(double half, double middle) const;
};

// The span of a picture: its range and some more, for what noise and details add.
MatchSpan match_span(const NoiseModel& noise);

// Which colour values take part. A usual picture's may lie as far outside as its curve tells apart:
// from 4 times white under black to 5 times white.
ValueRange valid_range(const MatchSpan& span);

// The curve of a plane but for its scale. The luma of a colour picture is sqrt(3) times as wide as
// a grey value; chroma planes have their centre at 0 and are no wider.
MatchCurve match_curve(const MatchSpan& span, bool colour, int32_t channel);

// Match values a step, such that a sum of so many squared differences stays under 2^30, and that no
// match value is beyond +-8191.
double largest_match_scale(const MatchSpan& span, bool colour, double differences);

// Sets the curve of every channel's plane. All get the same number of match values a sigma of
// theirs, so that a distance over several is in units of noise: `unit`, or fewer where one would
// have more than `largest` a step. A channel said to be nearly free of noise still may not outweigh
// the others beyond measure. Returns that number. Of the channels the first `compared` are; the
// others' match values are all 0.
double set_match_planes(MatchCurve* curve, const MatchSpan& span, double unit, double largest,
                        const double* noise, int32_t channels, int32_t compared);

// Those that tell what is alike: all, or luma alone where chroma follows from it.
int32_t compared_channels(const NoiseModel& noise, int32_t channels);

// How many channels have noise, at least 1: distances over the others, as over chroma of a
// black-and-white picture, are none.
int32_t noisy_channels(const double* noise, int32_t compared);

// Match values a sigma, as a share of `least`, which are needed lest structure looks like noise; or
// a step, as one is fine in any case: the larger of both.
inline constexpr double kLeastNlmUnit = 0.5, kLeastSwUnit = 2.0;
double match_fineness(const MatchCurve* curve, const double* noise, int32_t compared, double least);

}  // namespace grainless
