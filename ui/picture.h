// SPDX-License-Identifier: MIT
// What the preview has computed so far: exact pixels in square cells, each at several resolutions,
// and under them a coarse answer to the newest settings. Pixels are laid out as cairo's ARGB32,
// premultiplied, in the picture's own colours (PictureColours). Level n of an image is 1/2^n of its
// size, rounded up, each pixel the mean of 2 × 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/boundary/rect.h"

namespace grainless::ui {

inline constexpr int32_t kLevels = 6;
inline constexpr int32_t kCellSize = 128;  // pixels of level 0; a multiple of 2^(kLevels - 1)

// Pixels of one rectangle of a level.
struct Bitmap {
  Rect rect;
  std::vector<uint32_t> pixels;

  Bitmap() = default;
  explicit Bitmap(const Rect& area) : rect(area), pixels(static_cast<size_t>(area.area())) {}
  uint32_t* at(int32_t x, int32_t y) {
    return pixels.data() + std::ptrdiff_t{y - rect.y} * rect.width + (x - rect.x);
  }
  const uint32_t* at(int32_t x, int32_t y) const {
    return pixels.data() + std::ptrdiff_t{y - rect.y} * rect.width + (x - rect.x);
  }
};

// The pixels of the level that hold any of rect's of level 0.
Rect at_level(const Rect& rect, int32_t level);

// Fills `part` of a level from the next finer one, which holds all that part needs.
void halve(const Bitmap& fine, const Rect& part, Bitmap& coarse);

// Brings a bitmap of level `from` to a finer or the same level, smoothly; only `part` of the
// result.
Bitmap enlarge(const Bitmap& bitmap, int32_t from, int32_t to, const Rect& part);

// What `result` of level `from` did to `original`, done to `fine`, the original at a finer level:
// as sharp as that one, with what is finer than the result's pixels left as it is. Only `part`.
Bitmap apply_at(const Bitmap& fine, const Bitmap& original, const Bitmap& result, int32_t from,
                int32_t to, const Rect& part);

// The cells that touch rect, as a rectangle of cells, and back.
Rect cells_of(const Rect& rect);
Rect pixels_of(const Rect& cells);

using CellIndex = std::pair<int32_t, int32_t>;  // column, row

struct Cell {
  int32_t level = 0;  // of its finest bitmap
  std::vector<Bitmap> bitmaps;
};

// One job's result, cut up for the picture: either cells or a coarse bitmap.
struct Piece {
  uint64_t settings = 0;  // that it was computed with; newer ones have larger numbers
  std::map<CellIndex, Cell> cells;
  Rect coarse_rect;  // level 0
  int32_t coarse_level = 0;
  Bitmap coarse;
};

// Cuts an exact result, whose rect is made of whole cells as far as the image reaches, and makes
// its levels from `level` on.
Piece cut(Bitmap exact, uint64_t settings, int32_t level);

class Picture {
 public:
  // Takes a piece in. One with newer settings takes the place of all that is there, one with older
  // settings is dropped: no two settings are ever seen side by side.
  void add(Piece piece);
  // Forgets what lies outside of rect.
  void trim(const Rect& rect);
  void clear() { *this = {}; }

  bool empty() const { return cells_.empty() && coarse_.pixels.empty(); }
  size_t size() const { return cells_.size(); }
  // Whether the cell holds the settings' result, at the level or finer.
  bool has(const CellIndex& index, uint64_t settings, int32_t level) const;
  // The smallest rectangle of cells that holds those of `cells` that are missing.
  Rect missing(const Rect& cells, uint64_t settings, int32_t level) const;
  // Whether a coarse answer to the settings covers rect.
  bool has_coarse(const Rect& rect, uint64_t settings) const;

  // Puts everything that is known over target, pixels of a level.
  void paint(int32_t level, Bitmap& target) const;

 private:
  uint64_t settings_ = 0;
  std::map<CellIndex, Cell> cells_;
  Rect coarse_rect_;
  int32_t coarse_level_ = 0;
  Bitmap coarse_;
};

}  // namespace grainless::ui
