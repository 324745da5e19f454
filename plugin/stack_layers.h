// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "target.h"

namespace grainless {

// The layers that a stack is made of, the lowest first, as files and animations count them.
struct StackLayers {
  Drawables layers;
  int32_t chosen = 0;   // the one to look at first
  std::string refusal;  // why they are no stack, as one sentence; empty when they are
  std::string what;     // which layers these are, a sentence
};

// Several layers: these. A layer group: the layers in it. One layer: it and all beside it, which
// are all layers of the image when it lies in no group.
StackLayers stack_layers(GimpImage* image, const Drawables& chosen);

// The same drawables, each of them once.
Drawables each_once(const Drawables& drawables);

// Why a script can't have these denoised: GIMP hands over whatever it is told to, layers of another
// image among it, and such as were never put into one. Empty when all are in the image.
std::string stranger_refusal(GimpImage* image, const Drawables& drawables);

// The same drawables: layers from the bottom up, then those that are none.
Drawables from_the_bottom(GimpImage* image, const Drawables& drawables);

// Why these layers can't be denoised together, or not any more; empty when they can.
std::string stack_refusal(GimpImage* image, const Drawables& layers);

}  // namespace grainless
