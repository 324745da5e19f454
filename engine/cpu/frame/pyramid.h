// SPDX-License-Identifier: MIT
// The levels of resolution on the CPU: denoises planes at every level of a plan and recomposes
// them.
#pragma once

#include "engine/boundary/plan.h"
#include "engine/boundary/pyramid.h"
#include "engine/thread_pool.h"
#include "method.h"
#include "planes.h"

namespace grainless {

// Means of 2 x 2 pixels of `fine` over the rectangle of `coarse`. fine_image: the finer level's
// size.
void halve(const Planes& fine, const Rect& fine_image, Planes& coarse, ThreadPool& pool);

// What of the image's planes run_levels needs to fill `out`.
Rect levels_source(const Plan& plan, int32_t width, int32_t height, const Rect& out);

// Fills job.target from job.source, which covers levels_source, with all levels of the plan;
// job.level is not used. The same bits for any rectangle and number of threads.
void run_levels(const Plan& plan, const MethodJob& job);

// Bytes it needs beyond source and target for a source of width x height.
uint64_t levels_bytes(const Plan& plan, int32_t width, int32_t height, int32_t threads);

}  // namespace grainless
