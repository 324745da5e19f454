// SPDX-License-Identifier: MIT
// What an algorithm of the CPU backend offers. Each fills target (any rectangle) from source, which
// holds every pixel of the image within the level's reach of target. Results are
// the same bits for any target rectangle, thread count and instruction set of one build where
// stated. Both check for cancellation at least every 50 ms (Error kCancelled) and report progress
// 0..1.
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

// BM3D, all stages (Dabov 2007; Lebrun, IPOL 2012). engine/cpu/bm3d/bm3d.cpp.
void run_bm3d(const MethodJob& job);
// Bytes it needs beyond source and target for a source of width x height, on `threads` threads.
uint64_t bm3d_bytes(const LevelPlan& level, int32_t channels, int32_t width, int32_t height,
                    int32_t threads);

// Non-Local Means (Buades 2005), pixel-wise, joint distance over the channels.
// engine/cpu/nlm/nlm.cpp.
void run_nlm(const MethodJob& job);
uint64_t nlm_bytes(const LevelPlan& level, int32_t channels, int32_t width, int32_t height,
                   int32_t threads);

// Shapiro-Wilk NLM (Yamanappa et al. 2018). engine/cpu/sw_nlm/sw_nlm.cpp.
void run_sw_nlm(const MethodJob& job);
uint64_t sw_nlm_bytes(const LevelPlan& level, int32_t channels, int32_t width, int32_t height,
                      int32_t threads);

}  // namespace grainless
