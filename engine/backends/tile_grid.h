// SPDX-License-Identifier: MIT
// Into how many columns and rows of tiles an area is cut.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/boundary/rect.h"
#include "uncut_area.h"

namespace grainless {

struct GridRequest {
  Rect area;            // to be cut, not empty
  Rect image;           // holds area; what lies beyond it no tile looks at
  int32_t halo;         // pixels round a tile that it looks at
  int32_t least_count;  // of tiles, 1 and more
  int32_t shortest;     // sides of tiles aren't cut any further from twice this on, in pixels
  int32_t longest;      // the most a side may have, in pixels, shortest and more
  uint64_t budget;      // bytes that a tile may take
  // The bytes that a tile takes with its halo, width x height pixels. Grows with either. Asked for
  // some times for every number of columns: it is to be arithmetic.
  std::function<uint64_t(int32_t width, int32_t height)> bytes;
};

struct Grid {
  TileSize tile;
  // Of the pixels that are computed with this tile to those of the area, 1 and more: method after
  // method, stage after stage needs less of the halo, on average half of it.
  double work;
  bool fits;  // into the budget; false: it is the smallest tile there is
};

// The grid with the least work that the request allows, and of these the one with the fewest tiles.
Grid choose_grid(const GridRequest& request);

}  // namespace grainless
