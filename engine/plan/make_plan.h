// SPDX-License-Identifier: MIT
// User units become kernel units here, and nowhere else.
#pragma once

#include <cstdint>

#include "engine/boundary/plan.h"
#include "engine/noise/picture_noise.h"
#include "engine/params/params.h"

namespace grainless {

// True when nothing would be removed: with strength, luma and chroma all sigmas of the picture
// itself are under kLeastSigma, and no impulses are looked for.
bool changes_nothing(const Params& params, const PictureNoise& noise);

// The parameters for noise of those sigmas, a channel each: strength, luma or chroma is 0 where it
// would leave less than kLeastSigma of them.
Params audible_params(const Params& params, const double* sigma, int32_t channels);

// The sigma of measured is used times its strength and the parameters strength, luma, chroma, and
// shadows and highlights (toned_noise.h). What is under kLeastSigma then, a level or a channel of
// one, is copied. params must be valid.
Plan make_plan(const Params& params, PixelFormat format, const PictureNoise& measured);

// Of a clip curve the square of the share of the noise that is removed in dark tones, and in bright
// ones: what stays noisy keeps its mean. channels: planes, 1 or 3.
ClipCurve clip_for(const Params& params, int32_t channels, const ClipCurve& curve);

// Sets plan.bend, without which there are no plan.corners, and plan.hidden, the planes of the bent
// range.mean.
void set_bend(Plan& plan, const ToneBend& bend, const PictureRange& range);

}  // namespace grainless
