// SPDX-License-Identifier: MIT
// cuFFT, opened when it is first asked for: only the DFT of BM3D needs it, and a user with nothing
// but the driver has all the rest.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace grainless::cuda {

// Throws Error(kUnsupported) with the reason where there is no cuFFT.
void open_fft();

// In-place transforms of `batch` squares of side x side floats, whose rows are padded to
// 2 * (side / 2 + 1), on the current device. The batch is part of what cuFFT chooses its kernels
// by: equal batches give equal bits. Both ways are unscaled.
class FftPlans {
 public:
  FftPlans(int side, int batch);
  ~FftPlans();
  FftPlans(const FftPlans&) = delete;
  FftPlans& operator=(const FftPlans&) = delete;

  // Throws Error(kUnsupported) when `bytes` are not enough.
  void use(cudaStream_t stream, void* work, size_t bytes) const;
  void forward(void* data) const;
  void inverse(void* data) const;

 private:
  class Made* made_;
};

}  // namespace grainless::cuda
