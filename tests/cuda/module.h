// SPDX-License-Identifier: MIT
#pragma once

#include "engine/abi.h"

namespace grainless::test {

extern const AbiBackend* g_module;  // the module of the command line

}  // namespace grainless::test
