// SPDX-License-Identifier: MIT
// What an algorithm of the CUDA module is given: the twin of engine/cpu/frame/method.h. A method
// queues work on the job's stream and never synchronises itself. launch_in_bands()
// (cuda/runtime/launch.h) cuts long work into launches short enough for a desktop card's watchdog,
// with a checkpoint() before each. Results are the same bits for any target rectangle, stream and
// order of tiles.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "engine/boundary/abi.h"
#include "engine/boundary/plan.h"
#include "engine/boundary/rect.h"

namespace grainless::cuda {

// Planar luma/chroma (or grey) floats in 8-bit steps over one rectangle of the image, in device
// memory.
struct DevicePlanes {
  float* data;   // of (rect.x, rect.y); plane c starts at data + c * rect.height * stride
  int channels;  // 1 or 3
  Rect rect;     // absolute coordinates
  int stride;    // floats from row to row, a multiple of 32; data is 128-byte aligned

  __host__ __device__ float* plane(int c) const {
    return data + static_cast<size_t>(c) * rect.height * stride;
  }
};

class Pacer;  // cuda/runtime/pacer.h

struct MethodJob {
  const LevelPlan* level;  // host memory
  int image_width, image_height;
  DevicePlanes source;  // holds every pixel within the level's reach of target
  DevicePlanes target;
  void* scratch;  // device memory, 256-byte aligned, contents undefined
  size_t scratch_bytes;
  cudaStream_t stream;
  const AbiCallbacks* callbacks;  // may be null
  Pacer* pacer = nullptr;         // keeps few launches queued, so that cancelling is quick
};

// See cuda/runtime/pacer.h. `fraction` is of the tile's work.
void checkpoint(const MethodJob& job, double fraction);

// Of the planes that a method is to read.
struct LevelSize {
  int channels, width, height;
};

}  // namespace grainless::cuda
