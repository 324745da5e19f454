// SPDX-License-Identifier: MIT
#pragma once

#include <gegl-plugin.h>

#include "engine/params/params.h"

namespace grainless::effect {

// One property for each parameter of pictures: the table's key, range, label, tooltip and choices,
// in the user's language.
void install_properties(GObjectClass* type);

// By the number that a property was installed with. False: it is none of ours.
bool set_property(Params& params, guint number, const GValue* value);
bool get_property(const Params& params, guint number, GValue* value);

}  // namespace grainless::effect
