// SPDX-License-Identifier: MIT
// What brings a filter nearer to the scenes of a stack whose layers don't stand still. Averaging
// loses where parts of a pixel's motion hide in the noise: then each layer is better off alone.
// Non-Local Means has another way (fuses_stack() in engine/plan/stack_plan.h): a search in three
// dimensions follows what moves, and loses where layers share little. Where what moves is smaller
// than the blocks that it is followed by, it had better not be.
//
// Nothing that the layers show tells it; trying does. With white noise n of the known sigma, and z
// drawn as strong, v + a z and v - z / a are two pictures of a layer's scene whose noise is
// independent (Pang et al., Recorrupted-to-Recorrupted, CVPR 2021): what is made of the first is as
// far from the second as it is from the scene, but for the second's noise, which is the same for
// all ways.
#pragma once

#include <functional>
#include <span>

#include "denoise.h"
#include "engine/noise/model.h"
#include "engine/progress.h"
#include "thread_pool.h"

namespace grainless {

// A part of a volume, by the filter for stacks.
using RunVolume = std::function<void(const Params& params, int32_t depth, const NoiseModel& noise,
                                     const VolumePixels& pixels, const Callbacks& callbacks)>;

// Sets noise.apart and noise.unfollowed, takes noise.places back where layers are better followed
// from where they are (fences repeat themselves), and sets noise.nlm_way where `all` layers of the
// stack are there, by parts of layers, which are whole, where their noise is surely measured, white
// and about as strong at every brightness. `run` filters the parts: on the processor, that the
// result is the same on any machine.
void try_ways(std::span<const ConstImage> layers, bool all, ThreadPool& pool,
              const Callbacks& callbacks, const RunVolume& run, NoiseModel& noise);

}  // namespace grainless
