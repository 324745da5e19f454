// SPDX-License-Identifier: MIT
// Noise that grows or falls towards the corners, where a picture shows it surely: as a lens's
// vignetting leaves it when it was corrected, most of a fast lens wide open.
#pragma once

#include "engine/boundary/rect.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "estimate.h"
#include "picture_noise.h"
#include "sample.h"

namespace grainless {

// Takes the gain from the sample's colours, at all resolutions.
void take_gain(const GainField& field, Sample& sample, ThreadPool& pool);

// As estimate_even_noise(), and where the noise surely changes towards the corners, of colours over
// that gain (PictureNoise::corners).
PictureNoise estimate_cornered_noise(const Sample& sample, const Rect& whole,
                                     const PictureRange& range, NoiseKind kind, ThreadPool& pool,
                                     const Callbacks& callbacks);

}  // namespace grainless
