// SPDX-License-Identifier: MIT
#include "drawable_io.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bands.h"
#include "checksum.h"
#include "engine/boundary/status.h"
#include "merge_correction.h"
#include "target.h"

namespace grainless {
namespace {

constexpr uint64_t kTileRows = 4;
// Of a selection as it is read for a merge: of a pixel, and the most that is read. No setting has a
// part in it, so that a layer gets the same pixels in one piece and in bands.
constexpr uint64_t kSelectionBytes = 3, kMostSelection = uint64_t{512} << 20;

// Of a large layer the faults of small pages take a quarter of the time of reading it. Where the
// system has no large ones, or nobody may ask for them, all stays as it is.
void ask_for_large_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr size_t kPage = size_t{2} << 20;
  void* aligned = data;
  size_t left = bytes;
  if (std::align(kPage, kPage, aligned, left) == nullptr) return;
  (void)madvise(aligned, left / kPage * kPage, MADV_HUGEPAGE);
#endif
}

bool is_there(GimpDrawable* drawable) {
  return gimp_item_is_valid(GIMP_ITEM(drawable)) != FALSE;
}

// A band of rows without what lies in rect.
std::vector<Rect> parts_outside(const Rect& rect, const Rect& band) {
  const int32_t top = std::clamp(rect.y, band.y, band.bottom());
  const int32_t bottom = std::clamp(rect.bottom(), top, band.bottom());
  std::vector<Rect> parts{{band.x, band.y, band.width, top - band.y},
                          {band.x, top, rect.x - band.x, bottom - top},
                          {rect.right(), top, band.right() - rect.right(), bottom - top},
                          {band.x, bottom, band.width, band.bottom() - bottom}};
  std::erase_if(parts, [](const Rect& part) { return part.empty(); });
  return parts;
}

}  // namespace

PixelBuffer::PixelBuffer(PixelFormat format, int32_t width, int32_t height, const Rect& rect)
    : format_(format),
      width_(width),
      height_(height),
      rect_(rect),
      data_(std::make_unique_for_overwrite<uint8_t[]>(size_t(rect.area()) * format.pixel_bytes())) {
  ask_for_large_pages(data_.get(), size_t(rect.area()) * format.pixel_bytes());
}

uint8_t* PixelBuffer::at(int32_t x, int32_t y) {
  return static_cast<uint8_t*>(pixel_at(writable(), x, y));
}

const uint8_t* PixelBuffer::at(int32_t x, int32_t y) const {
  return static_cast<const uint8_t*>(pixel_at(image(), x, y));
}

PixelSums::PixelSums(const Rect& of)
    : rect(of), stripes(static_cast<size_t>((of.height + kBandRows - 1) / kBandRows)) {}

Rect PixelSums::stripes_around(int32_t first, int32_t end) const {
  const int32_t above = (first - rect.y) / kBandRows;
  const int32_t below = (end - rect.y + kBandRows - 1) / kBandRows;
  const int32_t y = rect.y + above * kBandRows;
  return intersect({rect.x, y, rect.width, (below - above) * kBandRows}, rect);
}

void limit_tile_cache(uint64_t bytes) {
  guint64 now = 0;
  g_object_get(gegl_config(), "tile-cache-size", &now, nullptr);
  g_object_set(gegl_config(), "tile-cache-size", std::min<guint64>(now, bytes), nullptr);
}

std::vector<ConstImage> images(const std::vector<PixelBuffer>& buffers) {
  std::vector<ConstImage> images;
  for (const PixelBuffer& buffer : buffers) images.push_back(buffer.image());
  return images;
}

std::vector<MutableImage> writable_images(std::vector<PixelBuffer>& buffers) {
  std::vector<MutableImage> images;
  for (PixelBuffer& buffer : buffers) images.push_back(buffer.writable());
  return images;
}

bool same_pixels(const PixelBuffer& a, const PixelBuffer& b, const Rect& rect) {
  const auto bytes = static_cast<size_t>(rect.width) * a.format().pixel_bytes();
  if (a.format() != b.format() || !a.rect().contains(rect) || !b.rect().contains(rect)) {
    return false;
  }
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    if (std::memcmp(a.at(rect.x, y), b.at(rect.x, y), bytes) != 0) return false;
  }
  return true;
}

DrawableIo::DrawableIo(GimpDrawable* drawable)
    : drawable_(drawable),
      width_(gimp_drawable_get_width(drawable)),
      height_(gimp_drawable_get_height(drawable)),
      encoding_(encoding_for(gimp_drawable_get_format(drawable))),
      buffer_(gimp_drawable_get_buffer(drawable)) {}

DrawableIo::DrawableIo(DrawableIo&&) noexcept = default;
DrawableIo::~DrawableIo() = default;

Rect DrawableIo::selected() const {
  Rect rect;
  if (!gimp_item_is_valid(GIMP_ITEM(drawable_)) ||
      !gimp_drawable_mask_intersect(drawable_, &rect.x, &rect.y, &rect.width, &rect.height)) {
    return {};
  }
  return rect;
}

uint64_t DrawableIo::tile_rows_bytes() const {
  return kTileRows * kBandRows * static_cast<uint64_t>(width_) * encoding_.native_bytes();
}

bool DrawableIo::has_selection() const {
  return gimp_item_is_valid(GIMP_ITEM(drawable_)) &&
         !gimp_selection_is_empty(gimp_item_get_image(GIMP_ITEM(drawable_)));
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

uint64_t DrawableIo::read(const Rect& rect, PixelBuffer& into) const {
  std::vector<uint8_t> native;
  read_native(buffer_.get(), rect, native);
  const Babl* to_engine = babl_fish(encoding_.native, encoding_.engine);
  const size_t row = size_t(rect.width) * encoding_.native_bytes();
  for (int32_t y = 0; y < rect.height; ++y) {
    babl_process(to_engine, native.data() + row * y, into.at(rect.x, rect.y + y), rect.width);
  }
  return checksum(native.data(), native.size());
}

uint64_t DrawableIo::checksum_of(GeglBuffer* buffer, const Rect& rect) const {
  std::vector<uint8_t> native;
  read_native(buffer, rect, native);
  return checksum(native.data(), native.size());
}

bool DrawableIo::is_as_opened() const {
  return gimp_drawable_get_width(drawable_) == width_ &&
         gimp_drawable_get_height(drawable_) == height_ &&
         gimp_drawable_get_format(drawable_) == encoding_.native;
}

void DrawableIo::expect_accessible() const {
  if (!gimp_item_is_valid(GIMP_ITEM(drawable_))) {
    throw Error(ErrorCode::kBadInput, gone_sentence());
  }
  if (gimp_drawable_get_width(drawable_) != width_ ||
      gimp_drawable_get_height(drawable_) != height_) {
    throw Error(ErrorCode::kBadInput, moved_sentence(drawable_));
  }
  if (gimp_drawable_get_bpp(drawable_) != encoding_.native_bytes()) {
    throw Error(ErrorCode::kBadInput, reformatted_sentence());
  }
}

void DrawableIo::read_native(GeglBuffer* buffer, const Rect& band,
                             std::vector<uint8_t>& native) const {
  const GeglRectangle area = gegl_rect(band);
  const size_t row = size_t(band.width) * encoding_.native_bytes();
  native.resize(row * band.height);
  gegl_buffer_get(buffer, &area, 1.0, encoding_.native, native.data(), static_cast<gint>(row),
                  GEGL_ABYSS_NONE);
}

void DrawableIo::read_all(PixelBuffer& into, PixelSums& sums, const CallMonitor& monitor,
                          const Arrived& arrived) const {
  const auto note = [&](const Rect& band, uint64_t sum) {
    auto& known = sums.stripes[static_cast<size_t>((band.y - sums.rect.y) / kBandRows)];
    if (known.value_or(sum) != sum) {
      throw Error(ErrorCode::kBadInput, repainted_sentence(drawable_));
    }
    known = sum;
  };
  std::vector<uint8_t> native;
  const auto read_band = [&](const Rect& band) {
    expect_accessible();
    uint8_t* target = into.at(band.x, band.y);
    if (encoding_.direct()) {
      const GeglRectangle area = gegl_rect(band);
      gegl_buffer_get(buffer_.get(), &area, 1.0, encoding_.native, target,
                      static_cast<gint>(into.row_bytes()), GEGL_ABYSS_NONE);
      note(band, checksum(target, size_t(into.row_bytes()) * band.height));
      return;
    }
    read_native(buffer_.get(), band, native);
    note(band, checksum(native.data(), native.size()));
    babl_process(babl_fish(encoding_.native, encoding_.engine), native.data(), target,
                 static_cast<long>(band.area()));
  };
  for_each_band(into.rect(), monitor, [&](const Rect& band) {
    read_band(band);
    if (arrived) arrived(band.bottom());
  });
}

bool DrawableIo::unchanged(const PixelSums& sums, const CallMonitor& monitor) const {
  const Buffer now(gimp_drawable_get_buffer(drawable_));  // buffer_ keeps what it has read
  std::vector<uint8_t> native;
  size_t index = 0;
  bool same = true;
  for_each_band(sums.rect, monitor, [&](const Rect& band) {
    const std::optional<uint64_t>& sum = sums.stripes[index++];
    if (!same || !sum) return;
    expect_accessible();
    read_native(now.get(), band, native);
    same = checksum(native.data(), native.size()) == *sum;
  });
  return same;
}

DrawableIo::Buffer DrawableIo::shadow() const {
  expect_accessible();
  return Buffer(gimp_drawable_get_shadow_buffer(drawable_));
}

// The band is sent to GIMP at once: what is left over in this process when the drawable goes away
// would be sent after it.
void DrawableIo::set_native(GeglBuffer* shadow, const Rect& band, const void* pixels) {
  const GeglRectangle area = gegl_rect(band);
  const size_t bytes = static_cast<size_t>(band.area()) * encoding_.native_bytes();
  prepared_.push_back({band, checksum(pixels, bytes)});
  gegl_buffer_set(shadow, &area, 0, encoding_.native, pixels, GEGL_AUTO_ROWSTRIDE);
  gegl_buffer_flush(shadow);
}

void DrawableIo::write_band(GeglBuffer* shadow, const Rect& band, const PixelBuffer& source,
                            const PixelBuffer& result) {
  expect_accessible();
  if (encoding_.direct()) {
    set_native(shadow, band, result.at(band.x, band.y));
    return;
  }
  const size_t row = size_t(band.width) * encoding_.native_bytes();
  std::vector<uint8_t> originals;
  read_native(buffer_.get(), band, originals);
  std::vector<uint8_t> target(originals.size());
  for (int32_t y = 0; y < band.height; ++y) {
    restore_native(encoding_, originals.data() + y * row, source.at(band.x, band.y + y),
                   result.at(band.x, band.y + y), target.data() + y * row, band.width);
  }
  set_native(shadow, band, target.data());
}

void DrawableIo::copy_band(GeglBuffer* shadow, const Rect& band) {
  expect_accessible();
  std::vector<uint8_t> originals;
  read_native(buffer_.get(), band, originals);
  set_native(shadow, band, originals.data());
}

bool DrawableIo::prepare_outside(const Rect& rect, const CallMonitor& monitor) {
  if (rect == whole()) return true;
  const Buffer into = shadow();
  if (!into) return false;
  for_each_band(whole(), monitor, [&](const Rect& band) {
    for (const Rect& part : parts_outside(rect, band)) copy_band(into.get(), part);
  });
  return true;
}

bool DrawableIo::prepare(const PixelBuffer& source, const PixelBuffer& result,
                         const CallMonitor& monitor) {
  const Buffer into = shadow();
  if (!into) return false;
  for_each_band(result.rect(), monitor,
                [&](const Rect& band) { write_band(into.get(), band, source, result); });
  return true;
}

bool DrawableIo::still_prepared(const CallMonitor& monitor) const {
  const Buffer now = shadow();
  if (!now) return false;
  for (size_t i = 0; i < prepared_.size(); ++i) {
    throw_if_cancelled(monitor);
    expect_accessible();
    if (checksum_of(now.get(), prepared_[i].rect) != prepared_[i].sum) return false;
    monitor.progress(static_cast<double>(i + 1) / static_cast<double>(prepared_.size()));
  }
  return true;
}

uint64_t DrawableIo::correction_bytes() const {
  const bool needed = has_selection() && MergeCorrection::may_be_needed(encoding_.native);
  return needed ? static_cast<uint64_t>(selected().area()) * kSelectionBytes : 0;
}

// A pixel that is a step off is better than no result: without memory for it there is none.
std::unique_ptr<MergeCorrection> DrawableIo::correction(const CallMonitor& monitor) const {
  const uint64_t bytes = correction_bytes();
  if (bytes == 0 || bytes > kMostSelection) return nullptr;
  std::unique_ptr<MergeCorrection> made;
  const Status status = guard([&] { made = std::make_unique<MergeCorrection>(*this, monitor); });
  if (!status.ok() && status.code() != ErrorCode::kOutOfMemory) throw_if_failed(status);
  return made;
}

void DrawableIo::foresee_merge(uint64_t& left, const CallMonitor& monitor) {
  foreseen_ = false;
  if (!is_there(drawable_) || !is_as_opened()) return;
  const uint64_t bytes = correction_bytes();
  if (bytes > left) return;
  correction_ = correction(monitor);
  foreseen_ = true;
  left -= bytes;
}

bool DrawableIo::merge(const Rect& rect) {
  if (!is_there(drawable_) || !is_as_opened()) return false;
  const auto corrected = foreseen_ ? std::move(correction_) : correction(nobody());
  foreseen_ = false;
  if (!gimp_drawable_merge_shadow(drawable_, TRUE)) return false;
  // The drawable has its new pixels: whatever fails from here on is no failure of the filter.
  if (corrected && is_there(drawable_) && is_as_opened()) {
    (void)guard([&] { corrected->apply(); });
  }
  gimp_drawable_update(drawable_, rect.x, rect.y, rect.width, rect.height);
  return true;
}

void DrawableIo::discard() {
  if (prepared_.empty()) return;  // it may be somebody else's
  prepared_.clear();
  gimp_drawable_free_shadow(drawable_);
}

}  // namespace grainless
