// SPDX-License-Identifier: MIT
// Which devices there are, and why one can't be used.
#pragma once

#include <string>
#include <vector>

#include "engine/abi.h"

namespace grainless::cuda {

// Code in a module: machine code runs on devices of the same major and no lower minor version, PTX
// on every device from its version on.
struct CodeTargets {
  std::vector<int> machine;  // 90 for sm_90
  int ptx;                   // 0: none
};

// "75,80,90+PTX", as the build passes it. Throws Error(kInternal).
CodeTargets parse_targets(const std::string& text);
bool has_code_for(const CodeTargets& targets, int major, int minor);

// All devices, the unusable ones with a reason. Throws Error(kDeviceUnavailable) when there is no
// driver, one too old for this module, or no device at all.
std::vector<AbiDevice> list_devices();

// Makes the device current in this thread, or throws Error with the reason.
void select_device(uint32_t device);

}  // namespace grainless::cuda
