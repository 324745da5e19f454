// SPDX-License-Identifier: MIT
// A picture filter over a stack: each layer becomes the mean of those that show the same
// (engine/plan/fusion_plan.h), and the filter takes out of it what noise is left. How much that is
// depends on how many layers there were, place by place: with n layers in the window it runs for n
// of them, for about n / 2, n / 4, …, 1, wherever a pixel needs it, and a pixel between two of
// these is their mixture. Where nothing else shows the same, a layer is denoised as if it were
// alone; and a layer that shows nothing that others do is a picture of its own (lone_layers.h). Of
// what the filter takes, only the share is taken that is noise (mean_shares.h).
#pragma once

#include <functional>

#include "denoise.h"
#include "engine/boundary/plan.h"
#include "engine/plan/stack_plan.h"
#include "thread_pool.h"

namespace grainless {

// What a box of a volume of this shape depends on.
VolumeBox stack_source_box(const StackPlan& stack, const VolumeBox& box, const LayersShape& shape);

// The picture filter, on whatever device there is.
using RunPicture = std::function<void(const Plan& plan, const ConstImage& source,
                                      const MutableImage& target, const Callbacks& callbacks)>;

// Fills the target's layers. The same bits for any part, and any number of threads.
void run_stack(const StackPlan& stack, const VolumePixels& pixels, float detail, ThreadPool& pool,
               const Callbacks& callbacks, const RunPicture& run);

}  // namespace grainless
