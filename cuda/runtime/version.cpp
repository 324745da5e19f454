// SPDX-License-Identifier: MIT
#include "version.h"

namespace grainless::cuda {

// Compiled by the host's compiler: a new version doesn't compile the kernels anew.
const char kModuleVersion[] = GRAINLESS_VERSION;

}  // namespace grainless::cuda
