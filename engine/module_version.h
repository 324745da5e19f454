// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace grainless {

// The version of the module in the folder; empty for one that doesn't say it. Throws
// Error(kDeviceUnavailable) with one sentence, as where there is none. Looks for no driver.
std::string module_version(const std::string& module_dir);

}  // namespace grainless
