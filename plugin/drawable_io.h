// SPDX-License-Identifier: MIT
// GIMP's drawables ↔ pixels in memory. Main thread only: libgimp's wire has no lock.
#pragma once

#include <libgimp/gimp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "encoding.h"
#include "engine/boundary/pixels.h"
#include "engine/boundary/rect.h"
#include "engine/progress.h"

namespace grainless {

// Pixels of one rectangle of a drawable of width × height, in the engine's format.
class PixelBuffer {
 public:
  PixelBuffer(PixelFormat format, int32_t width, int32_t height, const Rect& rect);

  PixelFormat format() const { return format_; }
  const Rect& rect() const { return rect_; }
  ptrdiff_t row_bytes() const { return ptrdiff_t{rect_.width} * format_.pixel_bytes(); }
  uint8_t* at(int32_t x, int32_t y);
  const uint8_t* at(int32_t x, int32_t y) const;
  ConstImage image() const { return {format_, width_, height_, rect_, data_.get(), row_bytes()}; }
  MutableImage writable() { return {format_, width_, height_, rect_, data_.get(), row_bytes()}; }

 private:
  PixelFormat format_;
  int32_t width_, height_;
  Rect rect_;
  std::unique_ptr<uint8_t[]> data_;
};

using SharedPixels = std::vector<std::shared_ptr<const PixelBuffer>>;

std::vector<ConstImage> images(const std::vector<PixelBuffer>& buffers);
std::vector<MutableImage> writable_images(std::vector<PixelBuffer>& buffers);

// Whether both hold all of rect, and the same pixels.
bool same_pixels(const PixelBuffer& a, const PixelBuffer& b, const Rect& rect);

// Checksums of the drawable's own pixels in rect: one a stripe of rows, of those that were read.
struct PixelSums {
  PixelSums() = default;
  explicit PixelSums(const Rect& rect);
  // The stripes that hold rows first..end-1 of the drawable.
  Rect stripes_around(int32_t first, int32_t end) const;

  Rect rect;
  std::vector<std::optional<uint64_t>> stripes;
};

// A layer that passes once would be left in GEGL's cache as a whole, each tile in memory that the
// system has to clear first. The cache keeps tiles of so many bytes from now on, if it kept more.
inline constexpr uint64_t kTileCache = 64 << 20;
void limit_tile_cache(uint64_t bytes);

// Who looks on at a long call of the main thread.
struct CallMonitor {
  std::function<void(double)> progress;  // 0..1 of the call's work
  const CancelToken* cancel = nullptr;   // may be null
};

// A call that does part of another one's work.
inline CallMonitor within(const CallMonitor& monitor, double from, double size) {
  return {[=, progress = monitor.progress](double fraction) { progress(from + size * fraction); },
          monitor.cancel};
}
// Number i of `count` equal parts of it.
inline CallMonitor part_of(const CallMonitor& monitor, size_t i, size_t count) {
  const double size = 1.0 / static_cast<double>(count);
  return within(monitor, static_cast<double>(i) * size, size);
}

class MergeCorrection;

class DrawableIo {
 private:
  struct Unref {
    void operator()(void* object) const { g_object_unref(object); }
  };

 public:
  using Buffer = std::unique_ptr<GeglBuffer, Unref>;

  explicit DrawableIo(GimpDrawable* drawable);
  DrawableIo(DrawableIo&&) noexcept;
  ~DrawableIo();

  GimpDrawable* drawable() const { return drawable_; }
  int32_t width() const { return width_; }
  int32_t height() const { return height_; }
  Rect whole() const { return {0, 0, width_, height_}; }
  const Encoding& encoding() const { return encoding_; }
  // Of some rows of its tiles, as many as pieces of the drawable that follow each other share.
  uint64_t tile_rows_bytes() const;
  // The part of the drawable that the selection covers, possibly empty.
  Rect selected() const;

  // False when the drawable is gone, too.
  bool has_selection() const;
  // A byte a pixel of `rect`: 0 where less than half of it is selected.
  std::vector<uint8_t> selection(const Rect& rect) const;

  // Whether it still has the size and the format of the constructor's moment; it must be there.
  bool is_as_opened() const;
  // GIMP ends a plug-in that reads or writes a drawable that is gone or has another size or format.
  // Asked before every piece: throws the sentence for the user.
  void expect_accessible() const;

  // Reads `rect` into the same place of `into`; returns a checksum of the drawable's own pixels.
  uint64_t read(const Rect& rect, PixelBuffer& into) const;
  // The drawable's pixels as they are now: what read() has read is kept in this process. And the
  // checksum that read() returns for those of rect.
  Buffer buffer_now() const { return Buffer(gimp_drawable_get_buffer(drawable_)); }
  uint64_t checksum_of(GeglBuffer* buffer, const Rect& rect) const;
  // Is told that all rows of the drawable above row `end` have been read.
  using Arrived = std::function<void(int32_t end)>;
  // Reads all of into, which are whole stripes of sums, and notes what unchanged() needs to know.
  // Throws kCancelled, or the sentence for the user when they are not the pixels that were read
  // before.
  void read_all(PixelBuffer& into, PixelSums& sums, const CallMonitor& monitor,
                const Arrived& arrived = {}) const;
  // Whether GIMP still holds the pixels that were read. Throws kCancelled.
  bool unchanged(const PixelSums& sums, const CallMonitor& monitor) const;

  // Fills the drawable's shadow buffer around rect with its own pixels: whatever the selection is
  // when they are merged, none comes in that nobody computed. False: GIMP refused. Throws
  // kCancelled.
  bool prepare_outside(const Rect& rect, const CallMonitor& monitor);
  // Puts result, a part of the drawable or all of it, into the shadow buffer, where it waits for
  // merge(). source holds the pixels that result was made from. False: GIMP refused. Throws
  // kCancelled.
  bool prepare(const PixelBuffer& source, const PixelBuffer& result, const CallMonitor& monitor);
  // The same of a part of result, in what shadow() gave: null when GIMP refused.
  Buffer shadow() const;
  void write_band(GeglBuffer* shadow, const Rect& band, const PixelBuffer& source,
                  const PixelBuffer& result);
  // Whether all that was prepared still waits there: a drawable has one shadow buffer, which every
  // plug-in that works on it writes to, and which goes when one of them ends. Throws kCancelled.
  bool still_prepared(const CallMonitor& monitor) const;
  // What merge() has to know of the prepared pixels of a drawable with a selection takes a while,
  // so that it comes before the last look at what has changed: where it takes no more memory than
  // the bytes that are left.
  static constexpr uint64_t kForesight = uint64_t{512} << 20;  // of all drawables
  // Throws kCancelled, or the sentence for the user.
  void foresee_merge(uint64_t& left, const CallMonitor& monitor);
  // Replaces the drawable's pixels in rect by prepared ones in one undo step, through the
  // selection. False: GIMP refused, and this drawable has not changed.
  bool merge(const Rect& rect);
  // Forgets what was prepared.
  void discard();

 private:
  void read_native(GeglBuffer* buffer, const Rect& band, std::vector<uint8_t>& native) const;
  uint64_t correction_bytes() const;
  std::unique_ptr<MergeCorrection> correction(const CallMonitor& monitor) const;
  // pixels: the band's rows without gaps.
  void set_native(GeglBuffer* shadow, const Rect& band, const void* pixels);
  void copy_band(GeglBuffer* shadow, const Rect& band);

  GimpDrawable* drawable_;
  int32_t width_, height_;
  Encoding encoding_;
  Buffer buffer_;
  // What was put into the shadow buffer: pieces that don't overlap, and their checksums.
  struct Piece {
    Rect rect;
    uint64_t sum;
  };
  std::vector<Piece> prepared_;
  bool foreseen_ = false;
  std::unique_ptr<MergeCorrection> correction_;  // null: none is needed
};

}  // namespace grainless
