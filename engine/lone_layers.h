// SPDX-License-Identifier: MIT
// Layers of a stack that have next to nothing in common with others: slides, exposures in a row,
// frames between which the scene changes; and layers with far less noise than the others. There is
// nothing to average, and one number for the noise of all fits none of them: each is a picture of
// its own, with its own noise.
#pragma once

#include <functional>
#include <span>

#include "engine/boundary/pixels.h"
#include "engine/noise/model.h"
#include "engine/progress.h"
#include "thread_pool.h"

namespace grainless {

// Measures the noise of a layer as a picture of its own.
using MeasureLayer = std::function<PictureNoise(const ConstImage& layer)>;

// Sets noise.lone by comparing parts of each layer with all others. `layers` are all of the stack,
// each whole. The stack's noise and motion, which must be set, decide what shows the same.
void find_lone_layers(std::span<const ConstImage> layers, ThreadPool& pool,
                      const Callbacks& callbacks, const MeasureLayer& measure, NoiseModel& noise);

}  // namespace grainless
