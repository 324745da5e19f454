// SPDX-License-Identifier: MIT
// Which values a picture holds, which decides how finely and how widely patches are compared
// (engine/plan/match_scale.h). As the noise it is measured on whole pictures, never on a crop.
#pragma once

#include <span>

#include "engine/boundary/pixels.h"
#include "model.h"

namespace grainless {

// Of all of the images together (a volume's layers), which are whole and of one format. Taken from
// some 260,000 pixels, evenly spread. A value beyond black or white counts as far as its
// surroundings hold as much: that of a single pixel, or of a few, is not the picture's. Integers
// and pictures about black..white have the range 0..255.
PictureRange picture_range(std::span<const ConstImage> images);

// How many times wider than a usual picture's; at least 1.
double whites(const PictureRange& range);

// Whether the pixels decide it: all other formats have the usual range.
bool has_range(PixelFormat format);

}  // namespace grainless
