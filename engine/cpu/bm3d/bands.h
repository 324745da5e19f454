// SPDX-License-Identifier: MIT
// Work on the pixels of a rectangle, in bands of rows that are tasks of a pool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "engine/progress.h"
#include "engine/thread_pool.h"

namespace grainless {

inline constexpr int32_t kBandRows = 32;

// Runs body over bands of rows y0..y1-1, with a look at the cancel before each.
inline void over_bands(ThreadPool& pool, const Callbacks& callbacks, int32_t y0, int32_t y1,
                       const std::function<void(int32_t, int32_t)>& body) {
  const int32_t bands = (y1 - y0 + kBandRows - 1) / kBandRows;
  pool.parallel_for(bands, [&](int32_t band, int32_t) {
    throw_if_cancelled(callbacks);
    const int32_t from = y0 + band * kBandRows;
    body(from, std::min(from + kBandRows, y1));
  });
}

}  // namespace grainless
