// SPDX-License-Identifier: MIT
// One stage of BM3D over one rectangle.
#pragma once

#include <cstdint>

#include "engine/boundary/plan.h"
#include "engine/boundary/rect.h"
#include "engine/cpu/frame/method.h"
#include "engine/cpu/frame/planes.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"

namespace grainless {

struct Bm3dStageJob {
  const Bm3dStage* stage;
  int32_t image_width, image_height;
  const Planes* noisy;       // or what is left of its noise (Bm3dStage::share)
  const Planes* share;       // of the noise, that `noisy` has; null: all of it
  const Planes* pilot;       // the estimate of the stage before; null for hard thresholds
  const Planes* matched_on;  // an estimate; null: the noisy picture
  Rect wanted;
  ThreadPool* pool;
  const Callbacks* callbacks;
  double progress_from, progress_to;
};

// Pixels that the stage's result in `wanted` depends on: what its inputs must hold.
Rect bm3d_support(const Bm3dStage& stage, const Rect& wanted, int32_t width, int32_t height);

// The stage's estimate, over at least `wanted`.
Planes run_bm3d_stage(const Bm3dStageJob& job);

// Bytes that run_bm3d_stage holds at most, its result included, for a whole image.
uint64_t bm3d_stage_bytes(const Bm3dStage& stage, bool first_stage, const LevelSize& size,
                          int32_t threads);

}  // namespace grainless
