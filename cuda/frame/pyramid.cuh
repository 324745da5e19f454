// SPDX-License-Identifier: MIT
// The levels of resolution on the device: the twin of engine/cpu/frame/pyramid.h.
#pragma once

#include "method.cuh"

namespace grainless::cuda {

// What of the image's planes run_levels needs to fill `out`.
Rect levels_source(const Plan& plan, int width, int height, const Rect& out);

// Fills job.target from job.source, which covers levels_source, with all levels of the plan;
// job.level is not used.
void run_levels(const Plan& plan, const MethodJob& job);

// Device bytes beyond source and target for a source of width x height.
size_t levels_scratch_bytes(const Plan& plan, int width, int height);

}  // namespace grainless::cuda
