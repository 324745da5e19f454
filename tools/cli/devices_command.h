// SPDX-License-Identifier: MIT
#pragma once

namespace grainless::tools {

// Lists every device on stdout, the refused ones with their reason.
void run_devices(bool json);

}  // namespace grainless::tools
