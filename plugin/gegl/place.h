// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace grainless::effect {

// The folder that belongs to this module: "grainless" beside the folder of GEGL's modules, where a
// package has it, or beside the folder "gegl-0.4" of the user's own ones. Found from the module's
// own file; empty where there is none, or where the module was loaded by a relative path.
std::filesystem::path own_folder();

// The helper in it. Throws Error with a sentence for the user when it is missing, or is a file that
// others could have written.
std::string helper_program();

}  // namespace grainless::effect
