// SPDX-License-Identifier: MIT
// Noise of any spectrum: what is left in the flattest blocks of each brightness.
#pragma once

#include "noise_sample.h"

namespace grainless {

struct FlatNoise {
  double sigma[kSampleLevels] = {};  // standard deviation at each level; 0 without blocks
};

// Measures one channel in square blocks of `side` pixels of full resolution (a multiple of 8), half
// of a side apart. Flatness is judged on luma at quarter resolution, so that the noise of the finer
// levels hardly takes part in choosing the blocks it is measured in.
FlatNoise flat_block_noise(const Sample& sample, int32_t channel, int32_t side, ThreadPool& pool);

}  // namespace grainless
