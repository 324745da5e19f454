// SPDX-License-Identifier: MIT
// Which devices there are, and why one can't be used.
#pragma once

#include <vector>

#include "engine/boundary/abi.h"

namespace grainless::cuda {

// All devices, the unusable ones with a reason. Throws Error(kDeviceUnavailable) when there is no
// driver, one too old for this module, or no device at all.
std::vector<AbiDevice> list_devices(bool ask);

// Makes the device current in this thread, or throws Error with the reason.
void select_device(uint32_t device);

}  // namespace grainless::cuda
