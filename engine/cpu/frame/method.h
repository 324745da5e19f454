// SPDX-License-Identifier: MIT
// What an algorithm of the CPU backend is given. The algorithm fills target, any rectangle of the
// image, from source, which holds every pixel of the image within the level's reach of target. Its
// results are the same bits for any target rectangle, any number of threads and any instruction set
// of one build. It asks at least every 50 ms whether to stop (Error kCancelled) and reports
// progress from 0 to 1.
#pragma once

#include <cstdint>

#include "engine/boundary/plan.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "planes.h"

namespace grainless {

struct MethodJob {
  const LevelPlan* level;
  int32_t image_width, image_height;
  const Planes* source;
  Planes* target;
  ThreadPool* pool;
  const Callbacks* callbacks;
};

// Of the planes that a method is to read.
struct LevelSize {
  int32_t channels, width, height;
};

}  // namespace grainless
