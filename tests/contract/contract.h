// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace grainless::contract {

// The backend that is asked and the folder of its module, from the command line.
extern std::string g_device, g_module_dir;

}  // namespace grainless::contract
