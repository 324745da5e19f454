// SPDX-License-Identifier: MIT
// How luma and both colours vary with one another where a picture is flattest: the shades of a
// texture do, noise hardly does.
#pragma once

#include "sample.h"

namespace grainless {

// Of the flattest blocks of each tone, seen at a quarter of the resolution, about quadratic
// surfaces.
struct Shades {
  // The determinant of the channels' correlations, which three of four blocks stay under: 1, if
  // nothing of one shows in another, to 0, if all lie on one line.
  double apart = 1;
  // The share of luma's variance that follows from both colours, in half of the blocks.
  double told = 0;
  // The correlation of luma and V = R - 2G + B in all of them. A camera's red and blue are noisier
  // than its green, so that V rises with luma; where it falls, that is the picture's own.
  double v_with_luma = 0;
  // Standard deviation of luma at full resolution: what nine blocks of ten stay under, over the
  // median. 1.2 for one noise in all of them.
  double spread = 1;
};

// In square blocks of `side` pixels of full resolution (a multiple of 16), half of a side apart.
Shades measure_shades(const Sample& sample, int32_t side, ThreadPool& pool);

}  // namespace grainless
