// SPDX-License-Identifier: MIT
// Where the layers of a stack lie to each other: a hand that holds the camera displaces frames of
// many megapixels by tens of pixels, and turns them a little. Neighbours are compared at coarse
// resolution, where noise is weak: first all whole displacements of small pictures of them, by how
// well they correlate, and from that on, finer and finer, by gradients (Lucas and Kanade 1981),
// what disagrees counting little. That is right to a few pixels; engine/cpu/volume/motion_field.h
// finds the rest, block by block.
#pragma once

#include <span>

#include "engine/boundary/pixels.h"
#include "engine/noise/model.h"
#include "engine/noise/sample.h"
#include "engine/progress.h"
#include "thread_pool.h"

namespace grainless {

// Sets noise.places of whole layers, kMostMeasured at most, whose motion is to be followed.
// Layers that lie within a few pixels of each other, and such as don't seem to show the same, are
// left where they are.
void register_layers(std::span<const ConstImage> layers, ThreadPool& pool,
                     const Callbacks& callbacks, NoiseModel& noise);

// Where another layer shows what the tile of layer z holds, to a pixel; as far as it has that.
SampleTile placed_tile(const LayerPlaces& places, int32_t z, int32_t other, const SampleTile& tile,
                       const ConstImage& layer);

}  // namespace grainless
