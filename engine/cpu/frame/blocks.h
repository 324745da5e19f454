// SPDX-License-Identifier: MIT
// What the Non-Local Means methods share: a target cut into blocks, one scratch a thread, half of
// the search window's displacements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/boundary/rect.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "method.h"
#include "planes.h"

namespace grainless {

// Largest block. Wide and high enough to make its margin small beside it, small enough for a
// megabyte of second-level cache.
inline constexpr int32_t kBlockWidth = 256, kBlockHeight = 64;

// Blocks of nearly one size that cover width x height pixels.
struct BlockGrid {
  int32_t columns, rows;
  int32_t width, height;  // of a block

  BlockGrid(int32_t whole_width, int32_t whole_height)
      : columns((whole_width + kBlockWidth - 1) / kBlockWidth),
        rows((whole_height + kBlockHeight - 1) / kBlockHeight),
        width((whole_width + columns - 1) / columns),
        height((whole_height + rows - 1) / rows) {}

  int32_t count() const { return columns * rows; }

  Rect block(const Rect& whole, int32_t index) const {
    const Rect cell{whole.x + index % columns * width, whole.y + index / columns * height, width,
                    height};
    return intersect(cell, whole);
  }
};

inline constexpr ptrdiff_t kRowAlignment = kAlignment / sizeof(float);

// Floats of a row that starts aligned and has `pad` readable ones behind its pixels.
inline ptrdiff_t padded_row(int32_t width, int32_t pad) {
  return (width + pad + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

// add(dx, dy) for half of the window: a pair's weight serves both of its pixels.
template <typename Add>
void add_displacements(const MethodJob& job, int32_t radius, const Add& add) {
  for (int32_t dy = 0; dy <= radius; ++dy) {
    for (int32_t dx = dy == 0 ? 1 : -radius; dx <= radius; ++dx) {
      throw_if_cancelled(*job.callbacks);
      add(dx, dy);
    }
  }
}

// Copies the planes that none of the groups (first, count) filters.
template <typename Group>
void copy_unfiltered(const MethodJob& job, const std::vector<Group>& groups) {
  const Rect& rect = job.target->rect();
  for (int32_t c = 0; c < job.target->channels(); ++c) {
    const bool filtered = std::any_of(groups.begin(), groups.end(), [c](const Group& group) {
      return c >= group.first && c < group.first + group.count;
    });
    for (int32_t y = rect.y; y < rect.bottom() && !filtered; ++y) {
      std::copy_n(job.source->at(c, rect.x, y), rect.width, job.target->at(c, rect.x, y));
    }
  }
}

// run(scratch, block) for every block of the target, on all threads; make(width, height) gives a
// thread its scratch for blocks up to that size.
template <typename Make, typename Run>
void run_in_blocks(const MethodJob& job, const Make& make, const Run& run) {
  const Rect& rect = job.target->rect();
  const BlockGrid grid(rect.width, rect.height);
  std::vector<decltype(make(0, 0))> scratch(job.pool->size());
  std::mutex mutex;
  int32_t done = 0;
  job.pool->parallel_for(grid.count(), [&](int32_t index, int32_t slot) {
    if (!scratch[slot]) scratch[slot] = make(grid.width, grid.height);
    run(*scratch[slot], grid.block(rect, index));
    std::lock_guard lock(mutex);
    job.callbacks->report(static_cast<double>(++done) / grid.count());
  });
}

// Bytes that `threads` threads hold at most, with scratch_floats(width, height) of a block.
template <typename ScratchFloats>
uint64_t blocks_bytes(int32_t width, int32_t height, int32_t threads,
                      const ScratchFloats& scratch_floats) {
  const int32_t busy = std::clamp(threads, 1, BlockGrid(width, height).count());
  const uint64_t floats =
      scratch_floats(std::min(kBlockWidth, width), std::min(kBlockHeight, height));
  return static_cast<uint64_t>(busy) * floats * sizeof(float);
}

}  // namespace grainless
