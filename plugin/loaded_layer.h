// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "drawable_io.h"
#include "preview_conversion.h"
#include "ui/picture.h"

namespace grainless {

// The layer's pixels for the screen at full resolution: only the shown layer has them.
struct Screen {
  ui::Bitmap pixels;  // transparent where they are not known yet
  std::vector<char> chunks;
};

// A layer that is read piece by piece, with smaller pictures of it for the screen. It is held whole
// where its pixels fit into host_memory(). Of a larger one the latest pieces are held and the
// smaller pictures from kSmallest on; the others are read again when they are asked for. Main
// thread; others may look at what part() and level_part() gave. Takes no memory before anything is
// loaded.
class LoadedLayer {
 public:
  // in_parts: it may be held in parts.
  LoadedLayer(GimpDrawable* drawable, bool in_parts);

  const DrawableIo& io() const { return io_; }
  bool is_whole() const { return whole_; }
  // Of a layer that is held whole.
  const PixelBuffer& pixels() const { return *pixels_; }
  // The pixels of rect, which is loaded, or of more.
  std::shared_ptr<const PixelBuffer> part(const Rect& rect) const;
  // The preview's pixels at a level, of rect of that level or of more; what isn't loaded is
  // transparent. A level that is whole() lives as long as the layer.
  std::shared_ptr<const ui::Bitmap> level_part(int32_t level, const Rect& rect) const;
  // Whether a level is there as a whole, as far as the layer was read.
  bool has_level(int32_t level) const;

  // Fills screen, too, from now on; null: no longer.
  void show(Screen* screen);
  // What of a layer in parts is not forgotten, whatever else is read.
  void keep(std::vector<Rect> rects) { kept_ = std::move(rects); }
  // Reads what rect still lacks, until the time (monotonic, microseconds) comes. False: it came too
  // early. True: part(rect) has it all until something else is read. Throws when GIMP has no such
  // layer any more.
  bool load(const Rect& rect, int64_t end);
  // The same for what has never been read, for the smaller pictures.
  bool look_at(const Rect& rect, int64_t end);
  // The same of a layer that is held whole, for pixels(), which are not drawn yet.
  bool fetch(const std::vector<Rect>& rects, int64_t end);
  bool is_loaded(const Rect& rect) const;
  // Whether all of it was read once, and is in the smaller pictures.
  bool has_seen(const Rect& rect) const;
  // Whether pixels() have them all.
  bool has_fetched(const std::vector<Rect>& rects) const;
  // Chunks that are in no smaller picture yet, and how many there are of them in all.
  int32_t left() const { return left_; }
  int32_t chunks() const { return columns_ * rows_; }
  // How much of the reading is done, 0..1: what is fetched is half done.
  double progress() const;
  // How often a chunk was read.
  uint64_t reads() const { return reads_; }
  // Whether a chunk that was read is what `now`, a buffer of the layer, holds. What wasn't read
  // counts as unchanged.
  bool is_unchanged(int32_t index, GeglBuffer* now) const;
  // Whether a chunk that was read again had other pixels than before.
  bool found_change() const { return found_change_; }

 private:
  // Of a layer in parts.
  struct Held {
    std::unique_ptr<PixelBuffer> pixels;
    ui::Bitmap display;
    uint64_t used = 0;
  };
  Rect chunk(int32_t index) const;
  std::vector<int32_t> chunks_in(const Rect& rect) const;
  enum class Depth { kPixels, kLevels, kAll };
  bool has(int32_t index, Depth depth) const;
  bool load_missing(const std::vector<int32_t>& chunks, int64_t end, Depth depth);
  void load_chunk(int32_t index);
  void fetch_chunk(int32_t index);
  void load_into_whole(int32_t index);
  void load_apart(int32_t index);
  void note_sum(int32_t index, uint64_t sum);
  void to_display(const PixelBuffer& pixels, const Rect& rect, ui::Bitmap& display) const;
  void fill_levels(const ui::Bitmap& display, const Rect& rect);
  void make_room();
  bool is_kept(int32_t index) const;
  void allocate();

  DrawableIo io_;
  const PreviewConversion to_preview_;
  const bool whole_;
  std::shared_ptr<PixelBuffer> pixels_;         // of a whole layer
  std::array<ui::Bitmap, ui::kLevels> levels_;  // from first_level_ on
  const int32_t first_level_;
  bool allocated_ = false;
  Screen* screen_ = nullptr;
  int32_t columns_, rows_, left_;
  int32_t fetches_ = 0;         // chunks that are fetched
  std::vector<char> fetched_;   // of a whole layer: its pixels are there
  std::vector<char> loaded_;    // ever, with its smaller pictures
  std::vector<uint64_t> sums_;  // of the chunks that were read
  std::vector<std::unique_ptr<Held>> held_;
  std::vector<Rect> kept_;
  Rect loading_;  // kept, too
  uint64_t reads_ = 0, held_bytes_ = 0;
  mutable uint64_t uses_ = 0;
  bool found_change_ = false;
};

}  // namespace grainless
