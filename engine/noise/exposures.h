// SPDX-License-Identifier: MIT
// Layers of a stack that were exposed differently: what is cut off in one shows no noise there.
#pragma once

#include "sample.h"

namespace grainless {

// Of a layer's pixels, those whose noise is cut off.
double share_cut_off(const Sample& sample);

// Whether two layers may be exposures of one scene: lightness goes along (correlation of means of
// 4 x 4 pixels), or what is cut off in `b` is what is extreme in `a`. A layer that shows nothing at
// all contradicts none.
bool may_show_same_scene(const Sample& a, const Sample& b);

}  // namespace grainless
