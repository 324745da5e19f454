// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace grainless::cuda {

inline constexpr size_t kAlign = 256;  // bytes, of every buffer in device memory

// Rounded up to a multiple of kAlign.
constexpr size_t aligned(size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// a / b rounded up, for a >= 0 and b > 0.
constexpr int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

}  // namespace grainless::cuda
