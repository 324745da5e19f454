// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include <string>

namespace grainless {

// Why the filter can't work on this drawable, as one sentence for the user; empty when it can.
std::string refusal(GimpDrawable* drawable);

}  // namespace grainless
