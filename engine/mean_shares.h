// SPDX-License-Identifier: MIT
// How much of what a filter removes from the mean of still layers is noise. In fine texture a
// filter removes more than the noise that is left, which no single picture can tell; several layers
// can.
//
// Let y be the mean of n layers, and r half the difference between the means of two halves of them,
// which is as strong as the noise of y and independent of it. Then y + a r and y - r / a are two
// pictures of one scene with independent noise (Pang et al., Recorrupted-to-Recorrupted, CVPR
// 2021). With d, what a filter adds to the first, the second says which multiple of d comes closest
// to the scene in the mean square:
//     -(a + 1 / a) <d, r> / <d, d>
// One number for each channel, over the whole picture.
#pragma once

#include <span>

#include "engine/boundary/pixels.h"
#include "engine/noise/model.h"
#include "engine/progress.h"
#include "stack.h"
#include "thread_pool.h"

namespace grainless {

// Sets noise.means from parts of the measured_layers(), which are whole, where noise.between says
// that they stand still. noise.range must be set. `run` filters the parts, on the processor, so
// that the result is the same on any machine.
void measure_mean_shares(std::span<const ConstImage> layers, ThreadPool& pool,
                         const Callbacks& callbacks, const RunPicture& run, NoiseModel& noise);

}  // namespace grainless
