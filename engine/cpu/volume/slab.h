// SPDX-License-Identifier: MIT
#pragma once

#include "engine/boundary/abi.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"

namespace grainless {

// Non-Local Means over a slab of a volume, a few layers after the other: only the planes of these
// and of the layers round them are held. Throws Error.
void run_volume_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                     ThreadPool& pool, const Callbacks& callbacks);

// Pixels of a layer, and layers that are read and filled.
struct SlabSize {
  int32_t width, height, in_layers, out_layers;
};

// The most bytes of working memory it takes.
uint64_t volume_slab_bytes(const Plan& plan, const VolumePlan& volume, const SlabSize& size,
                           int32_t threads);

}  // namespace grainless
