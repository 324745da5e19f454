// SPDX-License-Identifier: MIT
// The feature similarity index (Zhang, Zhang, Mou, Zhang: FSIM, IEEE Trans. Image Processing 20,
// 2011): how alike two pictures are in phase congruency and gradient, weighted by the larger phase
// congruency; of colour pictures FSIMc, with the chrominances I and Q. Where the paper is silent it
// does what the authors' program does, so that values compare with published ones: Kovesi's energy
// and compensation of noise in the phase congruency, zeros outside the picture.
#pragma once

#include <memory>
#include <optional>

#include "engine/boundary/pixels.h"

namespace grainless::tools {

struct FsimReference;

// Compares pictures with one reference, whose features are found once. Sizes and numbers of colour
// channels must agree (check_comparable). Pictures are taken at the scale where their shorter side
// has about 256 pixels, as the authors advise. For one thread at a time.
class Fsim {
 public:
  explicit Fsim(const ConstImage& reference);
  ~Fsim();

  // 0..1, 1 for the reference itself. Nothing where a value is not finite.
  std::optional<double> of(const ConstImage& image);

 private:
  std::unique_ptr<FsimReference> reference_;
};

}  // namespace grainless::tools
