// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "engine/params/params.h"

namespace grainless {

// A separable transform of size x size patches, row-major: coefficients = forward * P * forward^T.
// Rows of forward have unit norm; inverse is its exact inverse.
struct PatchBasis {
  Transform transform;  // what was really used
  std::vector<double> forward, inverse;
};

// Any transform but kDft. kBior15 (Cohen, Daubechies, Feauveau 1992: biorthogonal spline
// wavelet 1.5, periodised, all levels), kHaar and kHadamard need a power of two; other sizes get
// the cosine transform (DCT-II).
PatchBasis patch_basis(Transform transform, int32_t size);

// Kaiser window of `size` samples: I0(beta sqrt(1 - (2i/(size-1) - 1)^2)) / I0(beta).
std::vector<double> kaiser_window(int32_t size, double beta);

}  // namespace grainless
