// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "engine/boundary/rect.h"

namespace grainless {

struct TileSize {
  int32_t width, height;
};

// The part of an area that nobody has computed or is computing. Whoever takes a tile says how large
// it may be, so that a card's tiles, as large as its memory, are never another backend's.
class UncutArea {
 public:
  explicit UncutArea(const Rect& area);

  bool empty() const { return parts_.empty(); }
  // Of tiles of at most this size that cover what is left.
  int64_t tiles(TileSize largest) const;
  // The next tile of at most this size. A part is cut evenly: a strip of one pixel at its end would
  // be nearly all halo.
  Rect take(TileSize largest);
  // What was taken and not computed: one with its neighbours again.
  void put_back(const Rect& tile);

 private:
  void merge_all();
  bool add_band(int32_t top, int32_t bottom);
  bool joins_band_below(size_t below, size_t band);

  std::vector<Rect> parts_;  // disjoint; the last one is cut next
  std::vector<Rect> bands_;  // merge_all()'s, with room from the start
  std::vector<int32_t> edges_;
};

}  // namespace grainless
