// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

namespace grainless {

// GimpRunImageFunc of the procedure for drawables one by one, and of that for stacks of layers.
GimpValueArray* run_procedure(GimpProcedure* procedure, GimpRunMode run_mode, GimpImage* image,
                              GimpDrawable** drawables, GimpProcedureConfig* config, gpointer);
GimpValueArray* run_stack_procedure(GimpProcedure* procedure, GimpRunMode run_mode,
                                    GimpImage* image, GimpDrawable** drawables,
                                    GimpProcedureConfig* config, gpointer);

}  // namespace grainless
