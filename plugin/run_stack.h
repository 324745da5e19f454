// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

namespace grainless {

// GimpRunImageFunc of the procedure for stacks of layers: run modes, undo, messages.
GimpValueArray* run_stack_procedure(GimpProcedure* procedure, GimpRunMode run_mode,
                                    GimpImage* image, GimpDrawable** drawables,
                                    GimpProcedureConfig* config, gpointer);

}  // namespace grainless
