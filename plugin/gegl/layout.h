// SPDX-License-Identifier: MIT
#pragma once

#include <babl/babl.h>

#include "plugin/encoding.h"

namespace grainless::effect {

// In which format an effect takes and gives pixels, and what of it goes through the engine. Usual
// formats stay what they are, so that a pixel comes out with the bits that the filter gives it;
// others (premultiplied, indexed, CMYK, or none known yet) become perceptual floats with alpha.
Encoding layout_for(const Babl* source);

}  // namespace grainless::effect
