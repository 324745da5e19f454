// SPDX-License-Identifier: MIT
// The library whose table is the fuzz target's own: see ../module_fuzz.cpp.
#include "engine/boundary/abi.h"

extern "C" const grainless::AbiBackend* grainless_fuzz_table();

extern "C" const grainless::AbiBackend* grainless_backend() {
  return grainless_fuzz_table();
}
