// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include "encoding.h"
#include "ui/picture_colours.h"

namespace grainless {

// What the preview's pixels of a drawable mean, and how GIMP shows them now: its settings, the
// image's profile, and what the image wants to be simulated. The drawable must be there.
ui::PictureColours picture_colours(GimpDrawable* drawable, const Encoding& encoding);

}  // namespace grainless
