// SPDX-License-Identifier: MIT
// PNM and PAM as PAM; PFM as PFM.
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const bool floats = size > 1 && data[0] == 'P' && (data[1] == 'F' || data[1] == 'f');
  if (size > 0) grainless::fuzz::check_reader({data, size}, floats ? ".pfm" : ".pam", true);
  return 0;
}
