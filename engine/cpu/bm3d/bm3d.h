// SPDX-License-Identifier: MIT
// BM3D, all stages (Dabov 2007; Lebrun, IPOL 2012).
#pragma once

#include <cstdint>

#include "engine/cpu/frame/method.h"

namespace grainless {

void run_bm3d(const MethodJob& job);
// Bytes it needs beyond source and target on `threads` threads; size: of the source.
uint64_t bm3d_bytes(const LevelPlan& level, const LevelSize& size, int32_t threads);

}  // namespace grainless
