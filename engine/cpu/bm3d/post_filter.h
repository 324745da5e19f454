// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "engine/boundary/post_filter.h"
#include "engine/cpu/frame/planes.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"

namespace grainless {

struct PostFilterJob {
  // Both hold what lies within kPostFilterReach of the target, in the image.
  const Planes* noisy;
  const Planes* estimate;
  Planes* target;
  int32_t image_width, image_height;
  float sigma;  // of luma's noise
  ThreadPool* pool;
  const Callbacks* callbacks;
};

// Luma of the target (engine/boundary/post_filter.h).
void run_post_filter(const PostFilterJob& job);

// Bytes that run_post_filter holds at most.
uint64_t post_filter_bytes(int32_t threads);

}  // namespace grainless
