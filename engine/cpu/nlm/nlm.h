// SPDX-License-Identifier: MIT
// Non-Local Means (Buades 2005), joint distance over the channels.
#pragma once

#include <cstdint>

#include "engine/cpu/frame/method.h"

namespace grainless {

void run_nlm(const MethodJob& job);
// Bytes it needs beyond source and target on `threads` threads; size: of the source.
uint64_t nlm_bytes(const LevelPlan& level, const LevelSize& size, int32_t threads);

}  // namespace grainless
