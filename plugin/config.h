// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include "engine/params/params.h"

namespace grainless {

// The procedure's arguments as parameters, through the table; what the procedure has no argument
// for is taken from `defaults`. Ranges were checked by GIMP; relations between values are
// validate()'s.
Params params_from_config(GimpProcedureConfig* config, const Params& defaults = {});

}  // namespace grainless
