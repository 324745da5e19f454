// SPDX-License-Identifier: MIT
// The scales of match values (engine/boundary/pixel_math.h: match_value), for the plan of every
// method.
//
// Match values are integers of limited size, so the range of a picture competes with the finest
// difference that counts, a share of its noise. Usual pictures (PictureRange::is_usual) have one
// curve: linear to half a picture's range beyond black and white, and compressed outside, where few
// pixels are. For all others the whole range is linear, with as many values for each sigma as fit.
// Where that is too few to tell noise from structure (noise of less than a thousandth of the
// range), the range is cut round the picture's middle. Pixels outside are left as they are; their
// noise is as small a part of their value.
#pragma once

#include <cstdint>

#include "engine/boundary/pixels.h"
#include "engine/noise/picture_noise.h"

namespace grainless {

// No colour value beyond it takes part, so that every sum of values is a finite float, bent or not.
// The longest sums are the substitute of a hidden pixel (289 lumas) and the mean of a group's
// transform (1,664 times a value).
inline constexpr double kWidestValue = 1e34;

// The colour values that are compared.
struct MatchSpan {
  bool usual = true;
  double low = 0, high = 255;
  // The size of a usual picture's step: tables that depend on sigma are read at sigma / unit. It is
  // not 1 where the noise is stronger than any setting, as in measurements with units of their own.
  double unit = 1;

  double middle() const { return (low + high) / 2; }
  double half() const { return (high - low) / 2; }
  // A part of this span with another half(), and with a middle() as near to `middle` as possible.
  MatchSpan cut_to(double half, double middle) const;
};

// The span of a picture: its range, and some more for what noise and details add.
MatchSpan match_span(const PictureNoise& noise);

// Which colour values take part. Those of a usual picture may be as far outside as its curve
// distinguishes: from 4 times white below black to 5 times white.
ValueRange valid_range(const MatchSpan& span);

// The curve of a plane, except its scale. The luma of a colour picture is sqrt(3) times as wide as
// a grey value; chroma planes have their centre at 0 and are no wider.
MatchCurve match_curve(const MatchSpan& span, bool colour, int32_t channel);

// The most match values for each step that keep a sum of so many squared differences below 2^30,
// and every match value within +-8191.
double largest_match_scale(const MatchSpan& span, bool colour, double differences);

// Sets the curve of each channel's plane. All channels get the same number of match values for each
// sigma of theirs, so that a distance over several of them is in units of noise: `unit`, or fewer
// where a channel would have more than `largest` for each step. The weight of a channel that is
// nearly free of noise is limited. Returns that number. Only the first `compared` channels are
// compared; the match values of the others are all 0.
double set_match_planes(MatchCurve* curve, const MatchSpan& span, double unit, double largest,
                        const double* noise, int32_t channels, int32_t compared);

// The number of channels that are compared: all, or luma alone where chroma follows from it.
int32_t compared_channels(const PictureNoise& noise, int32_t channels);

// How many channels have noise, at least 1. Distances over the others are 0, as over the chroma of
// a black-and-white picture.
int32_t noisy_channels(const double* noise, int32_t compared);

// How fine the match values are, 1 being enough: the number for each sigma as a share of `least`,
// below which structure looks like noise, or the number for each step, of which one is always
// enough. The larger of the two counts.
inline constexpr double kLeastNlmUnit = 0.5, kLeastSwUnit = 2.0;
double match_fineness(const MatchCurve* curve, const double* noise, int32_t compared, double least);

}  // namespace grainless
