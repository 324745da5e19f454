// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace grainless {

// The folder of the plug-in's binary: the GPU module, the icon and the translations lie there.
std::string module_dir();

}  // namespace grainless
