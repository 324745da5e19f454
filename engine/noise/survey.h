// SPDX-License-Identifier: MIT
// What a measurement needs of a picture that is too large for memory, gathered while it passes by
// in bands of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/boundary/pixels.h"
#include "engine/params/params.h"
#include "picture_range.h"
#include "sample.h"

namespace grainless {

class Survey {
 public:
  // A band holds so many rows before and after those that are told, where the picture has them.
  static constexpr int32_t kMargin = 1;

  Survey(const Params& params, PixelFormat format, int32_t width, int32_t height);

  // Whether add() looks at anything: else no band need pass.
  bool looks_at_pixels() const { return has_range(format_) || !tiles_.empty(); }

  // The band's rows first..end-1. Every row of the picture comes once, in any order; a band has the
  // picture's width.
  void add(const ConstImage& band, int32_t first, int32_t end);

  // After all rows, the same as from the whole picture.
  PictureRange range() { return range_.range(); }
  Sample sample(ThreadPool& pool, const Callbacks& callbacks);

  PixelFormat format() const { return format_; }
  Rect whole() const { return {0, 0, width_, height_}; }

 private:
  PixelFormat format_;
  int32_t width_, height_;
  RangeMeter range_;
  std::vector<SampleTile> tiles_;             // none where nothing is measured
  std::vector<std::vector<uint8_t>> pixels_;  // a tile's each, as they came
};

}  // namespace grainless
