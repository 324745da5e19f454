// SPDX-License-Identifier: MIT
// Drawings, dithers and palettes, whose pixels hold no noise to be measured.
#pragma once

#include "sample.h"

namespace grainless {

// Whether the pixels are drawn or dithered, and no photograph's. A mount or letterbox of one colour
// says nothing of the photograph in it.
bool is_graphic(const Sample& sample);

}  // namespace grainless
