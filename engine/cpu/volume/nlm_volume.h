// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/boundary/volume_plan.h"
#include "engine/cpu/frame/planes.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"

namespace grainless {

// Fills the layers first .. first + targets.size() - 1 of a volume. `sources` has an entry a layer
// of the volume; those within the plan's reach of the targets, reflected at the volume's ends, must
// hold their whole image. A voxel's bits don't depend on the slab or on the number of threads.
struct NlmVolumeJob {
  const VolumePlan* plan;
  std::vector<const Planes*> sources;
  int32_t first;
  std::vector<Planes*> targets;
  ThreadPool* pool;
  const Callbacks* callbacks;
};
void run_nlm_volume(const NlmVolumeJob& job);

// Bytes it needs beyond sources and targets for a slab of `slab` layers of width x height.
uint64_t nlm_volume_bytes(const VolumePlan& plan, int32_t channels, int32_t width, int32_t height,
                          int32_t slab, int32_t threads);

}  // namespace grainless
