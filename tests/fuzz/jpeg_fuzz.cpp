// SPDX-License-Identifier: MIT
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) grainless::fuzz::check_reader({data, size}, ".jpg", false);
  return 0;
}
