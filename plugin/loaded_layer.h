// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "drawable_io.h"
#include "ui/picture.h"

namespace grainless {

// The layer's pixels for the screen at full resolution: only the shown layer has them.
struct Screen {
  ui::Bitmap pixels;  // transparent where they are not known yet
  std::vector<char> chunks;
};

// A layer that is read into memory piece by piece, with smaller pictures of it for the screen. Main
// thread; others may look at what is loaded. Takes no memory before anything is loaded.
class LoadedLayer {
 public:
  explicit LoadedLayer(GimpDrawable* drawable);

  const DrawableIo& io() const { return io_; }
  const PixelBuffer& pixels() const { return *pixels_; }
  // From 1 on; what isn't read yet is transparent.
  const ui::Bitmap& level(int32_t level) const { return levels_[level]; }

  // Fills screen, too, from now on; null: no longer.
  void show(Screen* screen);
  // Reads what rect still lacks, until the time (monotonic, microseconds) comes. False: it came too
  // early. Throws when GIMP has no such layer any more.
  bool load(const Rect& rect, int64_t end);
  bool is_loaded(const Rect& rect) const;
  // Chunks that are to be read, and how many there are of them in all.
  int32_t left() const { return left_; }
  int32_t chunks() const { return columns_ * rows_; }
  // Whether a chunk that was read is what `now`, a buffer of the layer, holds. What wasn't read
  // counts as unchanged.
  bool is_unchanged(int32_t index, GeglBuffer* now) const;

 private:
  Rect chunk(int32_t index) const;
  std::vector<int32_t> chunks_in(const Rect& rect) const;
  bool is_ready(int32_t index) const;
  void load_chunk(int32_t index);
  void allocate();

  DrawableIo io_;
  std::unique_ptr<PixelBuffer> pixels_;
  std::array<ui::Bitmap, ui::kLevels> levels_;  // but for the first
  Screen* screen_ = nullptr;
  int32_t columns_, rows_, left_;
  std::vector<char> loaded_;
  std::vector<uint64_t> sums_;  // of the chunks that were read
};

}  // namespace grainless
