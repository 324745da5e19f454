// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "noise_model.h"
#include "params.h"
#include "pixels.h"
#include "progress.h"
#include "thread_pool.h"

namespace grainless {

struct VolumeRequest {
  const Params* params;
  int32_t depth;
  const NoiseModel* noise;
  std::span<const ConstImage> layers;     // whole images of one size and format
  std::span<const MutableImage> targets;  // as many
};

// Non-Local Means over a volume, slab after slab: only the planes of one slab and of the layers
// round it are held. Returns the most bytes of working memory. Throws Error.
uint64_t denoise_volume(const VolumeRequest& request, ThreadPool& pool, const Callbacks& callbacks);

// The mean of what some layers, evenly spread, say of their noise; white, as a volume's noise has
// one level of resolution.
NoiseModel estimate_volume_noise(std::span<const ConstImage> layers, ThreadPool& pool,
                                 const Callbacks& callbacks);

}  // namespace grainless
