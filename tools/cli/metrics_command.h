// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace grainless::tools {

// Prints PSNR and SSIM of two pictures, see metrics.h. Throws Error(kBadInput).
void run_metrics(const std::string& a, const std::string& b, bool json);

}  // namespace grainless::tools
