// SPDX-License-Identifier: MIT
// Layers of a stack that show next to nothing that others do: slides, exposures in a row, frames
// between which the scene changes; and layers that hold far less noise than the others. There is
// nothing to average, and one number for the noise of all serves none of them: each is a picture of
// its own, with its own noise.
#pragma once

#include <functional>
#include <span>

#include "engine/boundary/pixels.h"
#include "engine/noise/model.h"
#include "engine/progress.h"
#include "thread_pool.h"

namespace grainless {

// The noise of a picture of its own.
using MeasureLayer = std::function<NoiseModel(const ConstImage& layer)>;

// Sets noise.lone of whole layers, which are all, by parts of each and of all others; what is known
// of the stack's noise and motion tells what shows the same.
void find_lone_layers(std::span<const ConstImage> layers, ThreadPool& pool,
                      const Callbacks& callbacks, const MeasureLayer& measure, NoiseModel& noise);

}  // namespace grainless
