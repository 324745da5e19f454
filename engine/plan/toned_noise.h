// SPDX-License-Identifier: MIT
// The parameters `shadows` and `highlights`, as noise that depends on brightness.
#pragma once

#include "engine/noise/picture_noise.h"
#include "engine/params/params.h"

namespace grainless {

// A curve that is enabled: the straight line where none is.
ToneBend enabled_bend(const ToneBend& bend);

// The noise as it is to be removed: times tone_strength() at every brightness. Its curve makes that
// even (ToneBend), on top of what the noise's own does; sigma and the range are those of colours
// bent by both. Without a tone's strength the noise is the given one.
PictureNoise toned_noise(const Params& params, const PictureNoise& noise);

}  // namespace grainless
