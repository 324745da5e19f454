// SPDX-License-Identifier: MIT
// How much of what a picture filter takes out of the mean of still layers is noise. In fine texture
// a filter takes more of the picture than there is noise left, and nothing that one picture shows
// can tell; layers can.
//
// With y the mean of n layers and r half the difference of two halves' means, which is as strong as
// the noise of y and independent of it, y + a r and y - r / a are two pictures of one scene whose
// noise is independent (Pang et al., Recorrupted-to-Recorrupted, CVPR 2021). So the second tells
// what is best done with d, which a filter adds to the first: multiplied by
//     -(a + 1 / a) <d, r> / <d, d>
// it comes closest to the scene in the mean square. Channel by channel, over the whole picture.
#pragma once

#include <span>

#include "engine/boundary/pixels.h"
#include "engine/noise/model.h"
#include "engine/progress.h"
#include "stack.h"
#include "thread_pool.h"

namespace grainless {

// Sets noise.means by parts of the measured_layers(), which are whole, where noise.between says
// that they stand still; noise.range is known. `run` filters the parts: on the processor, that the
// result is the same on any machine.
void measure_mean_shares(std::span<const ConstImage> layers, ThreadPool& pool,
                         const Callbacks& callbacks, const RunPicture& run, NoiseModel& noise);

}  // namespace grainless
