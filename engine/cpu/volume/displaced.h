// SPDX-License-Identifier: MIT
#pragma once

#include "engine/cpu/frame/planes.h"
#include "motion_field.h"

namespace grainless {

// What of a layer of that size is needed for a rectangle.
Rect displaced_source(const MotionField& field, const Rect& rect, const Rect& layer);

// A layer's planes over rect, each block of it being taken from where the field says that the same
// is shown there; beyond `layer` its border is repeated. Parts of a pixel by a windowed sinc, which
// leaves noise nearly as white as it was.
Planes displaced(const Planes& layer, const MotionField& field, const Rect& rect);

// The pixels of the layer that are nearest to what becomes those pixels: of one one, two or four.
Rect pixels_under(const Offset& offset, const Rect& pixels);

}  // namespace grainless
