// SPDX-License-Identifier: MIT
// A filter for pictures applied to a stack: each layer becomes the mean of those that show the same
// (engine/plan/fusion_plan.h), and the filter removes the noise that is left. How much is left
// differs from place to place with the number of layers that were averaged. So with n layers in the
// window the filter runs for n of them, for about n / 2, n / 4, …, 1, each time where a pixel needs
// it, and a pixel between two of these is a mixture of both. Where nothing else shows the same, a
// layer is denoised as if it were alone; a layer that has nothing in common with the others is a
// picture of its own (lone_layers.h). Only the share of noise in what the filter would remove is
// removed (mean_shares.h).
#pragma once

#include <functional>

#include "denoise.h"
#include "engine/boundary/plan.h"
#include "engine/plan/stack_plan.h"
#include "thread_pool.h"

namespace grainless {

// The part of a volume of this shape that a box of the result depends on.
VolumeBox stack_source_box(const StackPlan& stack, const VolumeBox& box, const LayersShape& shape);

// The picture filter, on whatever device there is.
using RunPicture = std::function<void(const Plan& plan, const ConstImage& source,
                                      const MutableImage& target, const Callbacks& callbacks)>;

// Fills the target's layers, with the same bits for any part and any number of threads.
void run_stack(const StackPlan& stack, const VolumePixels& pixels, float detail, ThreadPool& pool,
               const Callbacks& callbacks, const RunPicture& run);

}  // namespace grainless
