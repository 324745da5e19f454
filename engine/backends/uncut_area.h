// SPDX-License-Identifier: MIT
// Cuts an area into tiles of different sizes for different backends.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/boundary/rect.h"

namespace grainless {

struct TileSize {
  int32_t width, height;
};

// The part of an area that is neither computed nor being computed. Each backend takes tiles of the
// size that suits it: none gets a tile that was cut for the memory of another.
class UncutArea {
 public:
  explicit UncutArea(const Rect& area);

  bool empty() const { return parts_.empty(); }
  // How many tiles of at most this size cover what is left.
  int64_t tiles(TileSize largest) const;
  // The next tile of at most this size. A part is cut evenly: a strip of one pixel at its end would
  // be nearly all halo.
  Rect take(TileSize largest);
  // Returns a tile that was taken and not computed; it is merged with its neighbours.
  void put_back(const Rect& tile);

 private:
  void merge_all();
  bool add_band(int32_t top, int32_t bottom);
  bool joins_band_below(size_t below, size_t band);

  std::vector<Rect> parts_;  // disjoint; the last one is cut next
  std::vector<Rect> bands_;  // for merge_all(), allocated from the start
  std::vector<int32_t> edges_;
};

}  // namespace grainless
