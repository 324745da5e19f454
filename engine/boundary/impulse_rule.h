// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace grainless {

// By how much a signal has to exceed what lies round it (impulse.h).
struct ImpulseLimit {
  int32_t alike;  // adjacent values that may be as far out: 0 or 1
  float least;    // 8-bit steps
  float times;    // of the surroundings' deviation
};

// Which values are impulses, and what becomes of them.
struct ImpulseRule {
  int32_t enabled;        // 0: nothing is one
  int32_t luma, chroma;   // whether these planes take the replacement
  ImpulseLimit one, all;  // of one colour (of two), of all of them
  ImpulseLimit blob;      // of one colour's blobs; times 0: they stay
  float agree;            // neighbours whose difference is far less are alike; 8-bit steps
};

}  // namespace grainless
