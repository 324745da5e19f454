// SPDX-License-Identifier: MIT
// By how much what a layer of a stack shows lies elsewhere in another layer, block by block: found
// from coarse to fine, and to an eighth of a pixel.
//
// About where a block lies by the layers' places, every whole displacement up to kMotionSearch is
// tried at a quarter of the resolution, over the blocks round each one, and over more of them where
// those don't tell. At half the resolution each block takes what leaves least of what was found
// round it, and a pixel beside. Parts of a pixel follow from the gradients (Lucas and Kanade 1981)
// of the blocks near it that go about the same way; the noise's own gradients are taken off. Where
// nothing surely moved from there, or what is near each other goes different ways, nothing is
// displaced further.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/frame/planes.h"
#include "engine/plan/fusion_plan.h"
#include "engine/thread_pool.h"

namespace grainless {

inline constexpr int32_t kMotionBlock = 16;  // pixels a side

// Where in the other layer a block is.
struct Offset {
  float right = 0, down = 0;  // pixels, in eighths
  bool as_round = false;      // the blocks round it are displaced about as it is
  bool operator==(const Offset&) const = default;
};

// The luma of a layer at half and at a quarter of the resolution.
struct MotionLevels {
  int32_t width, height;  // of the layer
  Planes half, quarter;
};

// What find_motion() looks at for a rectangle of a layer, within kMotionReach of it; in another
// layer, at what becomes of the part of it that there is (moved_about()). It may go beyond layers.
Rect motion_area(const Rect& rect);

// Levels of that.
MotionLevels motion_levels(const Plan& pixels, const ConstImage& layer, const Rect& area,
                           ThreadPool& pool);

// Offsets of the blocks that hold any pixel of a rectangle.
class MotionField {
 public:
  explicit MotionField(const Rect& rect);

  // Of the block that holds the pixel.
  const Offset& at(int32_t x, int32_t y) const {
    return offsets_[index(x / kMotionBlock, y / kMotionBlock)];
  }
  Offset& block(int32_t column, int32_t row) { return offsets_[index(column, row)]; }
  const Rect& blocks() const { return blocks_; }
  bool is_zero() const;

 private:
  size_t index(int32_t column, int32_t row) const {
    return static_cast<size_t>(row - blocks_.y) * blocks_.width + (column - blocks_.x);
  }

  Rect blocks_;
  std::vector<Offset> offsets_;
};

// Blocks of `side` pixels that hold any of the rectangle, which begins at 0 or beyond.
inline Rect blocks_of(const Rect& rect, int32_t side) {
  const int32_t x = rect.x / side, y = rect.y / side;
  return {x, y, (rect.right() - 1) / side + 1 - x, (rect.bottom() - 1) / side + 1 - y};
}

// body(offset, rectangle) of every block's part of `rect`.
template <typename Body>
void for_blocks(const MotionField& field, const Rect& rect, const Body& body) {
  const Rect blocks = blocks_of(rect, kMotionBlock);
  for (int32_t y = blocks.y; y < blocks.bottom(); ++y) {
    for (int32_t x = blocks.x; x < blocks.right(); ++x) {
      const Rect part =
          intersect({x * kMotionBlock, y * kMotionBlock, kMotionBlock, kMotionBlock}, rect);
      body(field.at(part.x, part.y), part);
    }
  }
}

// From `about` on, what is known of the whole layers. sigma: of luma's noise at half and at a
// quarter of the resolution; rect lies in the layers. The same offsets for any rectangle and number
// of threads.
MotionField find_motion(const MotionLevels& own, const MotionLevels& other, const Similarity& about,
                        const float (&sigma)[2], const Rect& rect, ThreadPool& pool);

}  // namespace grainless
