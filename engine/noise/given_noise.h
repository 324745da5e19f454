// SPDX-License-Identifier: MIT
#pragma once

#include "engine/params/params.h"
#include "model.h"

namespace grainless {

// The parameters of the measurement that tells a picture's noise for these: they themselves, or,
// of a given sigma, some with an automatic one.
Params measuring_params(const Params& params);

// The noise of params.sigma, which is given for a picture that shows `measured` beside it, by
// measuring_params(). It is white. Used of the measurement are the picture's range; impulses where
// params ask for them; and of surely measured white noise that was cut off at black or white, how
// far that has moved the tones (clip_curve.h), as far as the given sigma removes it.
NoiseModel given_noise(const Params& params, const PictureNoise& measured);

// The same for a curve of noise of the sigma `measured`, where `given` is removed.
ClipCurve given_clip(const ClipCurve& curve, double measured, double given);

}  // namespace grainless
