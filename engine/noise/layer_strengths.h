// SPDX-License-Identifier: MIT
// Stacks whose layers clearly differ in how strong their noise is: frames of different exposures or
// sensitivities, and some that were denoised or averaged before.
#pragma once

#include <vector>

#include "engine/thread_pool.h"
#include "model.h"
#include "sample.h"

namespace grainless {

// The noisiest is sure of what it holds, and flat blocks, which are about the same ones of one
// scene, show much of what layers say that they hold more than the calmest one. One that is unsure
// and says too little is taken for better than it is, as if alone. Layers of which nothing could be
// measured, as empty ones, say nothing; most have to say something.
bool differ_in_strength(const std::vector<PictureNoise>& found, const std::vector<Sample>& samples,
                        ThreadPool& pool);

// The noise of such a stack, with the layers' strengths, by what was found of each. Luma's tells
// them apart. How it is to that of colours, and of lower resolutions, the noisiest ones know best.
// Layers of which nothing could be measured are taken for what the middle one of the others is.
NoiseModel noise_of_different(const std::vector<PictureNoise>& found);

}  // namespace grainless
