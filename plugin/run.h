// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

namespace grainless {

// GimpRunImageFunc of the procedure: run modes, several drawables, undo, messages.
GimpValueArray* run_procedure(GimpProcedure* procedure, GimpRunMode run_mode, GimpImage* image,
                              GimpDrawable** drawables, GimpProcedureConfig* config, gpointer);

}  // namespace grainless
