// SPDX-License-Identifier: MIT
// The filter as GIMP's layer effect: its operation instead of new pixels.
#pragma once

#include <libgimp/gimp.h>

#include "engine/boundary/status.h"
#include "engine/params/params.h"
#include "target.h"

namespace grainless {

// The procedure's argument that asks for it.
inline constexpr char kEffectKey[] = "as-effect";

bool wants_effect(GimpProcedureConfig* config);

// Why not all of them can have the effect, a sentence; empty: they can.
std::string refusal_of_effect(const Drawables& drawables);

// What becomes of colours that are switched off in the Channels dialog, which is a setting of the
// image and is not kept in files.
std::string effect_on_channels_sentence();

// Puts the effect with these settings on each of the layers, in one undo step. When one of them
// can't have it, or the operation isn't installed, none gets it. Layers that the selection misses
// stay without, which the note says: GIMP keeps the selection with the effect, which would never do
// anything. It also says what becomes of colours that are switched off.
Status add_effects(GimpImage* image, const Drawables& layers, const Params& params,
                   std::string& note);

}  // namespace grainless
