// SPDX-License-Identifier: MIT
// Layers of a stack that were exposed differently: what is cut off in one shows no noise there.
#pragma once

#include <vector>

#include "picture_noise.h"
#include "sample.h"

namespace grainless {

// Whether two layers may be exposures of one scene: lightness goes along (correlation of means of
// 4 x 4 pixels), or what is cut off in `b` is what is extreme in `a`. A layer that shows nothing at
// all contradicts none.
bool may_show_same_scene(const Sample& a, const Sample& b);

// Layers that can't tell don't gainsay those of the same scene that surely do, where these are at
// least half of what isn't cut off: takes them out of both lists, which are of the same layers.
void leave_out_mute(std::vector<PictureNoise>& found, std::vector<Sample>& samples);

}  // namespace grainless
