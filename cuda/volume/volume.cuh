// SPDX-License-Identifier: MIT
// Non-Local Means over a slab of a volume (engine/boundary/volume_plan.h).
#pragma once

#include "args.cuh"
#include "cuda/frame/method.cuh"
#include "engine/boundary/abi.h"

namespace grainless::cuda {

struct VolumeJob {
  const VolumePlan* plan;
  int volume_layers, in_first;  // of the volume; source holds the layers in_first on
  int first, layers;            // the slab
  DeviceStack source;
  void* scratch;  // device memory, 256-byte aligned, contents undefined
  size_t scratch_bytes;
  cudaStream_t stream;
  const AbiCallbacks* callbacks;  // may be null
  Pacer* pacer;
};

// Device bytes beyond the source.
size_t volume_scratch_bytes(const VolumePlan& plan, int channels, int width, int height,
                            int layers);

// Luma as it was: after run_volume(), which leaves results in the source, until the scratch memory
// is used again.
struct VolumeLuma {
  DevicePlanes first;   // of the slab's first layer, plane 0 alone
  size_t layer_floats;  // to the next one
};

// Queues the work; the slab's layers of the source become the result. Throws Error.
VolumeLuma run_volume(const VolumeJob& job);

}  // namespace grainless::cuda
