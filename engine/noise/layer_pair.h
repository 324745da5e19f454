// SPDX-License-Identifier: MIT
// Where and by how much two layers of a stack differ.
#pragma once

#include <vector>

#include "displacement.h"
#include "motion.h"
#include "sample.h"
#include "stack_noise.h"

namespace grainless {

struct PairBlock {
  int32_t tone;       // of kNoiseTones, by the luma of both
  SquareState state;  // of the square that holds it; unknown where none does
  bool clipped;       // some of its noise is cut off in either layer,
  bool cut_off;       // much of it
  double structure;   // variance of luma's means of 4 x 4 pixels
  double variance[kSampleLevels][kMaxChannels];  // of the difference, halved
  bool traced;                                   // its square's displacement is known
  Left left;                                     // what that leaves of the variance
};

struct LayerPair {
  std::vector<PairBlock> blocks;   // of 16 x 16 pixels, those that are valid in both layers
  int64_t still = 0, changed = 0;  // squares; shaken ones are still
  double share = 0, pixels = 0;    // of the difference, explained by a displacement of so many:
                                   // the squares' medians
  double sharpness = 0;            // the same: by one layer's being sharper
  bool hidden = false;             // they differ by far more than the noise that each shows
  size_t sure = 0, alike = 0;      // squares that surely show a displacement, and about the same
  double parts = 0;                // of a pixel, beside whole ones: their median
  size_t shown = 0, repeated = 0;  // cells of 4 x 4 pixels that aren't plain; equal in both layers

  // At least so many squares have to show it.
  static constexpr size_t kFewestSure = 4;
  // Most of the squares that show a displacement show the same.
  bool agrees() const { return 4 * alike >= 3 * sure; }
  bool together() const { return sure >= kFewestSure && agrees(); }
  bool apart() const { return sure >= kFewestSure && !agrees(); }

  bool differs_in_sharpness() const { return sharpness > 0.15; }

  // The layers differ, and yet a part of them is the same to the last bit: they hold no noise, or
  // it was held where nothing moved. What they differ by says nothing of noise then.
  bool repeat_in_part() const {
    constexpr size_t kFewestCells = 32, kPart = 8;
    return repeated < shown && repeated >= kFewestCells && kPart * repeated >= shown;
  }
};

// Of the same parts of two layers, whose luma shows noise of the variance `known` in each alone.
// `still`: squares of which all layers together tell (common_blocks.h).
LayerPair compare_layers(const Sample& a, const Sample& b, double known, Apart apart,
                         const std::vector<bool>& still = {});

}  // namespace grainless
