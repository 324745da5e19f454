// SPDX-License-Identifier: MIT
// Shapiro-Wilk NLM (Yamanappa et al. 2018).
#pragma once

#include <cstdint>

#include "engine/cpu/frame/method.h"

namespace grainless {

void run_sw_nlm(const MethodJob& job);
// Bytes it needs beyond source and target on `threads` threads; size: of the source.
uint64_t sw_nlm_bytes(const LevelPlan& level, const LevelSize& size, int32_t threads);

}  // namespace grainless
