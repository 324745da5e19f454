// SPDX-License-Identifier: MIT
// The part of make_plan() that says which values are impulses.
#pragma once

#include "engine/boundary/impulse_rule.h"
#include "engine/noise/picture_noise.h"
#include "engine/params/params.h"

namespace grainless {

// Of a picture of that range. kOff gives a rule that finds none, and so does kAuto: what it takes
// depends on what was measured.
ImpulseRule impulse_rule(ImpulseWay way, const PictureRange& range);

// Of a picture and its noise. Nothing is replaced with strength 0, in luma with luma 0, in chroma
// with chroma 0.
ImpulseRule impulse_rule(const Params& params, const PictureNoise& noise);

}  // namespace grainless
