// SPDX-License-Identifier: MIT
// Which of its two ways (fuses_stack() in engine/plan/stack_plan.h) brings Non-Local Means nearer
// to the scenes of a stack whose layers don't stand still: a search in three dimensions follows
// what moves, and loses where layers share little.
//
// Nothing that the layers show tells it; trying does. With white noise n of the known sigma, and z
// drawn as strong, v + a z and v - z / a are two pictures of a layer's scene whose noise is
// independent (Pang et al., Recorrupted-to-Recorrupted, CVPR 2021): what is made of the first is as
// far from the second as it is from the scene, but for the second's noise, which is the same for
// both ways.
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

// Sets noise.nlm_way by parts of all the layers of a stack, which are whole, where their noise is
// surely measured, white and about as strong at every brightness. `run` filters the parts: on the
// processor, that the result is the same on any machine.
void try_ways(std::span<const ConstImage> layers, ThreadPool& pool, const Callbacks& callbacks,
              const RunVolume& run, NoiseModel& noise);

}  // namespace grainless
