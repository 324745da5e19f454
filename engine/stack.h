// SPDX-License-Identifier: MIT
// BM3D over a stack: each layer becomes the mean of those that show the same
// (engine/plan/fusion_plan.h), and BM3D takes out of it what noise is left. How much that is
// depends on how many layers there were, place by place: with n layers in the window it runs for n
// of them, for about n / 2, n / 4, …, 1, wherever a pixel needs it, and a pixel between two of
// these is their mixture. Where nothing else shows the same, a layer is denoised as if it were
// alone.
#pragma once

#include <functional>

#include "denoise.h"
#include "engine/boundary/plan.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"
#include "engine/plan/fusion_plan.h"
#include "thread_pool.h"

namespace grainless {

// For 31 layers, kMaxDepth on either side.
inline constexpr int32_t kMostRuns = 6;

struct StackPlan {
  FusionPlan fusion;
  Params params;     // of the picture filter
  NoiseModel noise;  // of a layer alone
  int32_t halo;      // of the picture filter, whatever it runs for
};

// Whether a stack is averaged first: always for some methods, and for all where the layers are
// known to stand still, since then nothing finds more noise than their mean removes.
bool fuses_stack(const Params& params, const NoiseModel& noise);

// Shapes and settings as Engine::denoise_volume() takes them.
StackPlan make_stack_plan(const Params& params, int32_t depth, int32_t channels,
                          const NoiseModel& noise);

// What a box of a volume of this shape depends on.
VolumeBox stack_source_box(const StackPlan& stack, const VolumeBox& box, const LayersShape& shape);

// The picture filter, on whatever device there is.
using RunPicture = std::function<void(const Plan& plan, const ConstImage& source,
                                      const MutableImage& target, const Callbacks& callbacks)>;

// Fills the target's layers. The same bits for any part, and any number of threads.
void run_stack(const StackPlan& stack, const VolumePixels& pixels, float detail, ThreadPool& pool,
               const Callbacks& callbacks, const RunPicture& run);

}  // namespace grainless
