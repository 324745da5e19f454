// SPDX-License-Identifier: MIT
// The twin of tools/metrics/fsim.h, plainly and in double precision.
#pragma once

#include <cstdint>
#include <vector>

namespace grainless::test {

// Grey pictures on the 8-bit scale, row-major, taken at their own scale.
double reference_fsim(const std::vector<double>& a, const std::vector<double>& b, int32_t width,
                      int32_t height);

}  // namespace grainless::test
