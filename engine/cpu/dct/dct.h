// SPDX-License-Identifier: MIT
// Sliding-window DCT (Yu and Sapiro 2011); see DctPlan.
#pragma once

#include <cstdint>

#include "engine/cpu/frame/method.h"

namespace grainless {

void run_dct(const MethodJob& job);
// Bytes it needs beyond source and target on `threads` threads; size: of the source.
uint64_t dct_bytes(const LevelPlan& level, const LevelSize& size, int32_t threads);

}  // namespace grainless
