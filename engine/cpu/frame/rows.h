// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "engine/boundary/rect.h"
#include "engine/thread_pool.h"

namespace grainless {

inline constexpr int32_t kRowsAtOnce = 16;

// Calls body(y) for every row of rect. Strips of kRowsAtOnce rows run in parallel, the rows of a
// strip in order.
template <typename Body>
void over_rows(const Rect& rect, ThreadPool& pool, const Body& body) {
  pool.parallel_for((rect.height + kRowsAtOnce - 1) / kRowsAtOnce, [&](int32_t strip, int32_t) {
    const int32_t first = rect.y + strip * kRowsAtOnce;
    for (int32_t y = first; y < std::min(first + kRowsAtOnce, rect.bottom()); ++y) body(y);
  });
}

}  // namespace grainless
