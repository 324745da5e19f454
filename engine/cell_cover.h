// SPDX-License-Identifier: MIT
// Where a filter is needed in parts of a picture alone: squares of it, and few rectangles that hold
// them all.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/boundary/rect.h"

namespace grainless {

inline constexpr int32_t kCell = 32;  // pixels a side

// Cells of a rectangle of pixels, from its corner on; none is marked at first. Those at its right
// and bottom may be smaller.
class CellMask {
 public:
  CellMask() = default;
  explicit CellMask(const Rect& pixels);

  const Rect& all() const { return all_; }  // in cells, from 0 on
  uint8_t& at(int32_t column, int32_t row) {
    return marked_[static_cast<size_t>(row) * all_.width + column];
  }
  bool at(int32_t column, int32_t row) const {
    return marked_[static_cast<size_t>(row) * all_.width + column] != 0;
  }
  // In pixels, and the cells that touch a rectangle of pixels.
  Rect pixels(const Rect& cells) const;
  Rect cells(const Rect& pixels) const;

 private:
  Rect pixels_, all_;
  std::vector<uint8_t> marked_;
};

// Rectangles of cells that hold all marked ones. Each costs its own cells, those within `margin`
// cells of it, and what it takes to begin with one; all together cost little. They may overlap.
std::vector<Rect> cover(const CellMask& mask, double margin);

}  // namespace grainless
