// SPDX-License-Identifier: MIT
// The double twin of BM3D's first stage in the Fourier basis, by definition.
#pragma once

#include <cstdint>
#include <vector>

namespace grainless::test {

// Patches of side x side pixels: their orthonormal DFT along all three axes, without the
// coefficients of magnitude up to `threshold` (the mean stays), and back. Returns their weight,
// 1 / how many coefficients remain.
double reference_dft_group(std::vector<std::vector<double>>& patches, int32_t side,
                           double threshold);

}  // namespace grainless::test
