// SPDX-License-Identifier: MIT
#pragma once

namespace grainless::cuda {

extern const char kModuleVersion[];  // "1.2.3"

}  // namespace grainless::cuda
