// SPDX-License-Identifier: MIT
// The CPU backend's algorithms, a row each.
#pragma once

#include <cstdint>

#include "engine/boundary/choices.h"
#include "engine/cpu/frame/method.h"

namespace grainless {

struct CpuMethod {
  Method method;
  void (*run)(const MethodJob& job);
  // Bytes it needs beyond source and target on `threads` threads; size: of the source.
  uint64_t (*bytes)(const LevelPlan& level, const LevelSize& size, int32_t threads);
};

// Throws Error(kInternal) where this backend has none for Plan::method.
const CpuMethod& cpu_method(int32_t method);

}  // namespace grainless
