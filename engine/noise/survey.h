// SPDX-License-Identifier: MIT
// Collects what a measurement needs from a picture that is too large for memory, while it is read
// in bands of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/boundary/pixels.h"
#include "picture_range.h"
#include "sample.h"

namespace grainless {

class Survey {
 public:
  // A band must hold this many rows before and after first..end-1, where the picture has them.
  static constexpr int32_t kMargin = 1;

  Survey(PixelFormat format, int32_t width, int32_t height);

  // Adds the rows first..end-1 of the band, which has the picture's width. Each row of the picture
  // is to be added once, in any order.
  void add(const ConstImage& band, int32_t first, int32_t end);

  // After all rows: the same as from the whole picture.
  PictureRange range() { return range_.range(); }
  Sample sample(ThreadPool& pool, const Callbacks& callbacks);

  PixelFormat format() const { return format_; }
  Rect whole() const { return {0, 0, width_, height_}; }

 private:
  PixelFormat format_;
  int32_t width_, height_;
  RangeMeter range_;
  std::vector<SampleTile> tiles_;
  std::vector<std::vector<uint8_t>> pixels_;  // of each tile, in the file's encoding
};

}  // namespace grainless
