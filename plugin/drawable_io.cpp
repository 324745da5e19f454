// SPDX-License-Identifier: MIT
#include "drawable_io.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/status.h"

namespace grainless {
namespace {

constexpr int32_t kBandRows = 128;  // two rows of GIMP's tiles

GeglRectangle gegl_rect(const Rect& rect) {
  return {rect.x, rect.y, rect.width, rect.height};
}

// Calls body for every band of rows of rect, top down.
template <typename Body>
void for_each_band(const Rect& rect, const Watch& watch, const Body& body) {
  for (int32_t y = rect.y; y < rect.bottom(); y += kBandRows) {
    if (watch.cancel != nullptr && watch.cancel->cancelled()) {
      throw Error(ErrorCode::kCancelled, "cancelled");
    }
    body(Rect{rect.x, y, rect.width, std::min(kBandRows, rect.bottom() - y)});
    watch.progress(std::min(1.0, double(y + kBandRows - rect.y) / rect.height));
  }
}

}  // namespace

PixelBuffer::PixelBuffer(PixelFormat format, int32_t width, int32_t height, const Rect& rect)
    : format_(format),
      width_(width),
      height_(height),
      rect_(rect),
      data_(std::make_unique_for_overwrite<uint8_t[]>(size_t(rect.area()) * format.pixel_bytes())) {
}

uint8_t* PixelBuffer::at(int32_t x, int32_t y) {
  return static_cast<uint8_t*>(pixel_at(writable(), x, y));
}

const uint8_t* PixelBuffer::at(int32_t x, int32_t y) const {
  return static_cast<const uint8_t*>(pixel_at(image(), x, y));
}

bool same_pixels(const PixelBuffer& a, const PixelBuffer& b) {
  if (a.rect() != b.rect() || a.row_bytes() != b.row_bytes()) return false;
  const size_t bytes = size_t(a.row_bytes()) * a.rect().height;
  return std::memcmp(a.at(a.rect().x, a.rect().y), b.at(b.rect().x, b.rect().y), bytes) == 0;
}

DrawableIo::DrawableIo(GimpDrawable* drawable)
    : drawable_(drawable),
      width_(gimp_drawable_get_width(drawable)),
      height_(gimp_drawable_get_height(drawable)),
      encoding_(encoding_for(gimp_drawable_get_format(drawable))),
      buffer_(gimp_drawable_get_buffer(drawable)) {}

Rect DrawableIo::selected() const {
  Rect rect;
  if (!gimp_drawable_mask_intersect(drawable_, &rect.x, &rect.y, &rect.width, &rect.height)) {
    return {};
  }
  return rect;
}

bool DrawableIo::has_selection() const {
  return !gimp_selection_is_empty(gimp_item_get_image(GIMP_ITEM(drawable_)));
}

std::vector<uint8_t> DrawableIo::selection(const Rect& rect) const {
  GimpSelection* mask = gimp_image_get_selection(gimp_item_get_image(GIMP_ITEM(drawable_)));
  const Buffer buffer(gimp_drawable_get_buffer(GIMP_DRAWABLE(mask)));
  gint x = 0, y = 0;  // of the drawable in the image, where the selection lives
  gimp_drawable_get_offsets(drawable_, &x, &y);
  const GeglRectangle area = gegl_rect({rect.x + x, rect.y + y, rect.width, rect.height});
  std::vector<uint8_t> selected(static_cast<size_t>(rect.area()));
  gegl_buffer_get(buffer.get(), &area, 1.0, babl_format("Y u8"), selected.data(), rect.width,
                  GEGL_ABYSS_NONE);
  for (uint8_t& value : selected) value = value >= 128 ? 1 : 0;
  return selected;
}

void DrawableIo::read(const Rect& rect, PixelBuffer& into) const {
  const GeglRectangle area = gegl_rect(rect);
  gegl_buffer_get(buffer_.get(), &area, 1.0, encoding_.engine, into.at(rect.x, rect.y),
                  static_cast<gint>(into.row_bytes()), GEGL_ABYSS_NONE);
}

void DrawableIo::read_all(PixelBuffer& into, const Watch& watch) const {
  for_each_band(into.rect(), watch, [&](const Rect& band) { read(band, into); });
}

void DrawableIo::write_band(GeglBuffer* shadow, const Rect& band, const PixelBuffer& source,
                            const PixelBuffer& result) const {
  const GeglRectangle area = gegl_rect(band);
  if (encoding_.direct()) {
    gegl_buffer_set(shadow, &area, 0, encoding_.native, result.at(band.x, band.y),
                    static_cast<gint>(result.row_bytes()));
    return;
  }
  const size_t row = size_t(band.width) * encoding_.native_bytes();
  std::vector<uint8_t> originals(row * band.height), target(row * band.height);
  gegl_buffer_get(buffer_.get(), &area, 1.0, encoding_.native, originals.data(),
                  static_cast<gint>(row), GEGL_ABYSS_NONE);
  for (int32_t y = 0; y < band.height; ++y) {
    restore_native(encoding_, originals.data() + y * row, source.at(band.x, band.y + y),
                   result.at(band.x, band.y + y), target.data() + y * row, band.width);
  }
  gegl_buffer_set(shadow, &area, 0, encoding_.native, target.data(), static_cast<gint>(row));
}

bool DrawableIo::prepare(const PixelBuffer& source, const PixelBuffer& result,
                         const Watch& watch) const {
  const Buffer shadow(gimp_drawable_get_shadow_buffer(drawable_));
  if (!shadow) return false;
  for_each_band(result.rect(), watch,
                [&](const Rect& band) { write_band(shadow.get(), band, source, result); });
  gegl_buffer_flush(shadow.get());
  return true;
}

bool DrawableIo::merge(const Rect& rect) const {
  return gimp_drawable_merge_shadow(drawable_, TRUE) &&
         gimp_drawable_update(drawable_, rect.x, rect.y, rect.width, rect.height);
}

void DrawableIo::discard() const {
  gimp_drawable_free_shadow(drawable_);
}

}  // namespace grainless
