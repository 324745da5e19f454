// SPDX-License-Identifier: MIT
#pragma once

#include "stage.cuh"

namespace grainless::cuda {

inline bool in_fourier_basis(const Bm3dStage& stage) {
  return stage.transform == static_cast<int32_t>(Transform::kDft);
}

// Scratch of filter_stage_dft: spectra of a batch of references, cuFFT's own, and counts. The same
// for every tile, as place does not matter.
size_t dft_scratch_bytes(const Bm3dStage& stage);

}  // namespace grainless::cuda
