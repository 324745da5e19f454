// SPDX-License-Identifier: MIT
// Finds out by trial which way of filtering comes nearest to the scenes of a stack whose layers do
// not stand still. Averaging loses where motion by parts of a pixel hides in the noise: then each
// layer is better filtered alone. Non-Local Means can also search in three dimensions
// (fuses_stack() in engine/plan/stack_plan.h), which follows what moves, and loses where layers
// have little in common. And what moves is better not followed where it is smaller than the blocks
// that are compared.
//
// No measurement of the layers decides this; a trial does. Let a layer v have white noise of the
// known sigma, and let z be drawn with the same sigma. Then v + a z and v - z / a are two pictures
// of its scene with independent noise (Pang et al., Recorrupted-to-Recorrupted, CVPR 2021): a
// result from the first is as far from the second as it is from the scene, plus the noise of the
// second, which is the same for all ways.
#pragma once

#include <functional>
#include <span>

#include "denoise.h"
#include "engine/noise/model.h"
#include "engine/progress.h"
#include "thread_pool.h"

namespace grainless {

// Filters a part of a volume by the filter for stacks.
using RunVolume = std::function<void(const Params& params, int32_t depth, const NoiseModel& noise,
                                     const VolumePixels& pixels, const Callbacks& callbacks)>;

// Tries the ways on parts of the whole layers, where their noise is surely measured, white, and
// about as strong at every brightness. Sets apart and unfollowed, clears places
// where layers are better followed from where they are (fences repeat themselves), and, where `all`
// layers of the stack are given, sets nlm_way. `run` filters the parts, on the processor, so
// that the result is the same on any machine.
void try_ways(std::span<const ConstImage> layers, bool all, ThreadPool& pool,
              const Callbacks& callbacks, const RunVolume& run, NoiseModel& noise);

}  // namespace grainless
