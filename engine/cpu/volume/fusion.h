// SPDX-License-Identifier: MIT
// The mean of a stack's layers where they show the same, by engine/plan/fusion_plan.h.
#pragma once

#include "engine/cpu/frame/planes.h"
#include "engine/denoise.h"
#include "engine/plan/fusion_plan.h"
#include "engine/thread_pool.h"

namespace grainless {

// What planes of layers are made by, and layers of planes.
Plan layer_pixels(const FusionPlan& plan, PixelFormat format);

// Of one layer: luma and chroma, and how many independent layers as noisy as itself each pixel is
// worth (one plane), 1 where nothing was alike: (sum of weights)^2 / (sum of their squares) of
// layers that all are.
struct Fused {
  Planes planes, count;
};

// Pixels of `rect` of layer z. The source holds all layers within the plan's depth of z, as far as
// there are any, and their pixels within the plan's reach and kFillRadius of rect. The same bits
// for any rectangle and number of threads.
Fused fuse_layers(const FusionPlan& plan, const VolumePart<ConstImage>& source, int32_t z,
                  const Rect& rect, ThreadPool& pool, const Callbacks& callbacks);

}  // namespace grainless
