// SPDX-License-Identifier: MIT
// How the layers of a stack are displaced against each other: a camera in the hand displaces frames
// of many megapixels by tens of pixels, and turns them a little. Neighbours are compared at coarse
// resolution, where noise is weak: first small pictures of them at all whole displacements, by
// their correlation; then, finer and finer, by gradients (Lucas and Kanade 1981), in which parts
// that disagree count little. That is right to a few pixels; engine/cpu/volume/motion_field.h finds
// the rest, block by block.
#pragma once

#include <span>

#include "engine/boundary/pixels.h"
#include "engine/noise/model.h"
#include "engine/noise/sample.h"
#include "engine/progress.h"
#include "thread_pool.h"

namespace grainless {

// Sets the noise's places for at most kMostMeasured whole layers whose motion is to be followed.
// Layers that are within a few pixels of each other, or don't seem to show the same, are left where
// they are.
void register_layers(std::span<const ConstImage> layers, ThreadPool& pool,
                     const Callbacks& callbacks, NoiseModel& noise);

// The tile of layer `other` that shows what `tile` of layer z holds, to a pixel; at the border it
// is moved into the layer, which has the size of `layer`.
SampleTile placed_tile(const LayerPlaces& places, int32_t z, int32_t other, const SampleTile& tile,
                       const ConstImage& layer);

}  // namespace grainless
