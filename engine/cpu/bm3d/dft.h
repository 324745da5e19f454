// SPDX-License-Identifier: MIT
// Stage 1 of BM3D in the Fourier basis (Honzatko 2017): the 2-D DFT of each patch by KissFFT, the
// DFT along the group by its definition, hard threshold of the complex coefficients' magnitudes.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <kissfft.hh>

#include "engine/cpu/frame/planes.h"
#include "filter.h"

namespace grainless {

// A group's complex coefficients: of each patch the real parts, then the imaginary ones, of rows
// ky = 0..patch-1 and columns kx = 0..patch/2. The other columns mirror them.
struct DftGroup {
  int32_t count, size;  // patches; coefficients of each with the padding, a multiple of 16
  float* spectra;
  const float* multiplicity;  // of each coefficient: 2 with its mirror image, 1 alone, 0 padding
  float bound;                // squared threshold
};

// One thread's filter.
class DftFilter {
 public:
  explicit DftFilter(const Bm3dStage& stage);

  static uint64_t bytes(const Bm3dStage& stage);

  // As filter_group.
  void run(const GroupFilter& filter, const PatchGroup& group, int32_t c);

 private:
  using Complex = std::complex<float>;

  float* real(int32_t patch) { return spectra_.data() + 2 * patch * size_; }
  float* imaginary(int32_t patch) { return real(patch) + size_; }
  void transform(const kissfft<float>& dft);
  void separate(int32_t a, int32_t b, float scale);
  void join(int32_t a, int32_t b, float scale);
  void store(const GroupFilter& filter, int32_t a, int32_t b);

  const int32_t side_, columns_, size_;
  kissfft<float> forward_, inverse_;
  AlignedBuffer<float> spectra_, multiplicity_;
  Complex pair_[kMaxPatch * kMaxPatch], half_[kMaxPatch * kMaxPatch];  // two patches in one
};

}  // namespace grainless
