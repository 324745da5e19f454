// SPDX-License-Identifier: MIT
#pragma once

#include "engine/cpu/frame/planes.h"
#include "motion_field.h"

namespace grainless {

// What of a layer is needed for a rectangle, as far as the layer has it.
Rect displaced_source(const Rect& rect);

// A layer's planes over rect, each block of it being taken from where the field says that the same
// is shown there; beyond `layer` its border is repeated. Parts of a pixel by a windowed sinc, which
// leaves noise nearly as white as it was.
Planes displaced(const Planes& layer, const MotionField& field, const Rect& rect);

// The pixels of the layer that are nearest to what becomes a pixel: one, two or four.
Rect pixels_under(const Offset& offset, int32_t x, int32_t y);

}  // namespace grainless
