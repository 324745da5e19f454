// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

namespace grainless {

inline constexpr char kProcedureName[] = "plug-in-grainless-denoise";

inline constexpr char kStackProcedureName[] = "plug-in-grainless-denoise-stack";

// The procedures, with one argument a parameter of the table that belongs to them.
GimpProcedure* create_denoise_procedure(GimpPlugIn* plug_in);
GimpProcedure* create_stack_procedure(GimpPlugIn* plug_in);

}  // namespace grainless
