// SPDX-License-Identifier: MIT
// Drawings, dithers and palettes, whose pixels hold no noise to be measured.
#pragma once

#include "sample.h"

namespace grainless {

// Whether what repeats is one colour around parts where hardly anything does: a mount or letterbox,
// which says nothing of the photograph in it.
bool is_mounted(const Sample& sample);

// Whether the pixels are drawn or dithered, and no photograph's.
bool is_graphic(const Sample& sample);

}  // namespace grainless
