// SPDX-License-Identifier: MIT
// Phase congruency after Kovesi, as FSIM takes it (fsim.h): where the frequencies of a picture are
// in step, whatever the contrast.
#pragma once

#include <cstdint>
#include <vector>

#include "fourier.h"

namespace grainless::tools {

inline constexpr int32_t kScales = 4, kOrientations = 4;

// Log-Gabor filters (the paper's equation 3) of a turned spectrum: products of a part of each scale
// and one of each orientation, the latter over the number of pixels. They are 0 at frequency 0,
// whose logarithm is infinite.
struct FilterBank {
  RealPlane radial[kScales], angular[kOrientations];
  // Of white noise with a power of 1 in the finest scale, what the energy hardly exceeds.
  double noise[kOrientations];

  FilterBank(int32_t width, int32_t height, PlaneMemory& memory);
};

// Of pictures of one size.
class PhaseCongruency {
 public:
  PhaseCongruency(int32_t width, int32_t height);

  // Row-major, 0..1, of a picture on the 8-bit scale. NaN everywhere where a value is not finite.
  std::vector<float> of(const std::vector<float>& luma);

 private:
  void add_orientation(int32_t number);
  std::vector<float> quotients() const;

  int32_t width_, height_;
  PlaneTransform transform_;
  PlaneMemory memory_;
  FilterBank bank_;
  ComplexPlane spectrum_, middle_[kScales];
  float* responses_[kScales];              // of a block of columns
  RealPlane energy_, raised_, amplitude_;  // raised: an orientation's, noise among it
  uint32_t* squares_;                      // of the finest scale's responses, as bits
};

}  // namespace grainless::tools
