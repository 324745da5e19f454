// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

namespace grainless {

inline constexpr char kProcedureName[] = "plug-in-grainless-denoise";

// The procedure with one argument a parameter of the table.
GimpProcedure* create_denoise_procedure(GimpPlugIn* plug_in);

}  // namespace grainless
