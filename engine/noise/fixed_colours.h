// SPDX-License-Identifier: MIT
// Pictures in which a colour, or two, is one value all over: red under water, green and blue under
// a red lamp, two of three in what a microscope shows of one dye, and a colour that a program has
// filled. Their chroma follows from what is left, and holds its texture.
#pragma once

#include "sample.h"

namespace grainless {

// Sets sample.fixed_colours. Where a fixed colour is black or white, it has no noise that could be
// cut off: pixels that are kClipped by nothing else no longer are.
void find_fixed_colours(Sample& sample);

}  // namespace grainless
