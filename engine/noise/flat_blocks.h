// SPDX-License-Identifier: MIT
// Noise of any spectrum: what is left in the flattest blocks of each brightness.
#pragma once

#include <vector>

#include "sample.h"
#include "square_blocks.h"

namespace grainless {

// Flat blocks show less of a camera's noise than the rest of the picture: JPEG and the camera's own
// noise reduction clean them best. Measured on simulated raw development (1.1) and camera JPEGs
// (1.8).
inline constexpr double kFlatShare = 1.4;

struct FlatBlock : SquareBlock {
  float variance[kSampleLevels];  // of one channel about the best quadratic surface
};

// One channel in square blocks of `side` pixels of full resolution (a multiple of 8), half of a
// side apart, at the first `levels` levels (side >> level must be at least 4). Blocks that can't be
// measured, or that repeat their pixels throughout, are left out.
std::vector<FlatBlock> measure_blocks(const Sample& sample, int32_t channel, int32_t side,
                                      int32_t levels, ThreadPool& pool);

struct FlatNoise {
  double sigma[kSampleLevels] = {};  // standard deviation at each level; 0 without blocks
  // What the calmest classes of brightness allow at level 0: noise is in all of them, texture
  // isn't.
  double calmest = 0;
  double lowest = 0;  // at level 0: what only one block in a hundred stays under
};

// Measures one channel in square blocks of `side` pixels of full resolution (a multiple of 8), half
// of a side apart. Flatness is judged on luma at quarter resolution, so that the noise of the finer
// levels hardly takes part in choosing the blocks it is measured in.
FlatNoise flat_block_noise(const Sample& sample, int32_t channel, int32_t side, ThreadPool& pool);

// Luma's sigma in blocks of 16 pixels.
double flat_luma(const Sample& sample, ThreadPool& pool);

// What regions of 64 x 64 pixels show of one channel about quadratic surfaces: nearly the noise
// alone where there is a calm one, and far more than blocks of it where texture is everywhere.
struct RegionNoise {
  double calm = 0;    // standard deviation of the calmest; 0 without regions
  double most = 0;    // what nine regions of ten stay under
  double coarse = 0;  // of a calm region at quarter resolution
};

RegionNoise region_noise(const Sample& sample, int32_t channel, ThreadPool& pool);

}  // namespace grainless
