// SPDX-License-Identifier: MIT
// The finest diagonal band of small blocks, which texture hardly reaches: what tells how noise
// differs between parts of one picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sample.h"

namespace grainless {

struct BandBlock {
  int32_t x, y;                  // of the picture, its first pixel
  double structure, brightness;  // variance and mean of luma at quarter resolution, and round it
  std::vector<float> band;       // sizes, of unit gain for white noise
};

inline constexpr int32_t kBandBlock = 8;  // pixels of a block's side

// The tile's blocks of one channel that don't repeat their pixels throughout and can be measured:
// of the pixels of each and round it at most `clipped_share` are clipped.
std::vector<BandBlock> band_blocks(const SampleTile& tile, int32_t channel, double clipped_share);

struct BandNoise {
  double sigma = 0;  // standard deviation
  double brightness = 0;
  size_t blocks = 0;  // that were measured
};

// Of the flattest `share` of the blocks, at least `fewest`, which there must be. Sorts them.
BandNoise flattest_band(std::vector<BandBlock>& blocks, double share, size_t fewest);

}  // namespace grainless
