// SPDX-License-Identifier: MIT
#pragma once

#include "abi.h"

namespace grainless {

// What modules return since 0.1.0: AbiBackend's struct_size says whether this is there.
struct AbiVersionedBackend {
  AbiBackend backend;
  const char* version;  // of the Grainless whose build it is, for people; zero-terminated
};
static_assert(std::is_standard_layout_v<AbiVersionedBackend>);

}  // namespace grainless
