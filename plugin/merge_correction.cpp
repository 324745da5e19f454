// SPDX-License-Identifier: MIT
#include "merge_correction.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "bands.h"
#include "target.h"

namespace grainless {
namespace {

std::vector<uint8_t> read(GeglBuffer* buffer, const Rect& rect, const Babl* format) {
  const GeglRectangle area = gegl_rect(rect);
  const int bytes = babl_format_get_bytes_per_pixel(format);
  std::vector<uint8_t> pixels(static_cast<size_t>(rect.area()) * bytes);
  gegl_buffer_get(buffer, &area, 1.0, format, pixels.data(), GEGL_AUTO_ROWSTRIDE, GEGL_ABYSS_NONE);
  return pixels;
}

// Whether they are different values, and none by more than a step.
template <typename Value>
bool is_a_step_off(const uint8_t* a, const uint8_t* b, size_t bytes) {
  if (std::memcmp(a, b, bytes) == 0) return false;
  for (size_t i = 0; i < bytes; i += sizeof(Value)) {
    Value from, to;
    std::memcpy(&from, a + i, sizeof from);
    std::memcpy(&to, b + i, sizeof to);
    if (std::abs(int{from} - int{to}) > 1) return false;
  }
  return true;
}

}  // namespace

bool MergeCorrection::may_be_needed(const Babl* native) {
  const Babl* type = babl_format_get_type(native, 0);
  return type == babl_type("u8") || type == babl_type("u16");
}

MergeCorrection::MergeCorrection(const DrawableIo& io, const CallMonitor& monitor)
    : drawable_(io.drawable()), native_(io.encoding().native), selection_(io.drawable()) {
  if (selection_.shown().whole || selection_.rect().empty()) return;
  load_selection(io, monitor);
  const Rect& rect = selection_.rect();
  const GeglRectangle area = gegl_rect(rect);
  expected_.reset(gegl_buffer_new(&area, native_));
  const DrawableIo::Buffer before = io.buffer_now(), after = io.shadow();
  if (!after) throw Error(ErrorCode::kBadInput, not_taken_sentence());
  const auto pixel = static_cast<size_t>(babl_format_get_bytes_per_pixel(native_));
  for_each_band(rect, monitor, [&](const Rect& band) {
    io.expect_accessible();
    const std::vector<uint8_t> originals = read(before.get(), band, native_);
    std::vector<uint8_t> results = read(after.get(), band, native_);
    const size_t row = pixel * static_cast<size_t>(band.width);
    for (int32_t y = 0; y < band.height; ++y) {
      selection_.merge(native_, band.x, band.y + y, band.width, originals.data() + y * row,
                       results.data() + y * row);
    }
    const GeglRectangle to = gegl_rect(band);
    gegl_buffer_set(expected_.get(), &to, 0, native_, results.data(), GEGL_AUTO_ROWSTRIDE);
  });
}

void MergeCorrection::load_selection(const DrawableIo& io, const CallMonitor& monitor) {
  constexpr int64_t kAtATime = 50'000;  // microseconds
  while (!selection_.load(g_get_monotonic_time() + kAtATime)) {
    throw_if_cancelled(monitor);
    monitor.progress(0);
    io.expect_accessible();
  }
}

// What was corrected is sent to GIMP band by band: the user may paint again meanwhile.
void MergeCorrection::apply() const {
  if (!expected_) return;
  const DrawableIo::Buffer merged(gimp_drawable_get_buffer(drawable_));
  const auto pixel = static_cast<size_t>(babl_format_get_bytes_per_pixel(native_));
  for_each_band(selection_.rect(), nobody(), [&](const Rect& band) {
    std::vector<uint8_t> pixels = read(merged.get(), band, native_);
    const std::vector<uint8_t> expected = read(expected_.get(), band, native_);
    const size_t row = pixel * static_cast<size_t>(band.width);
    bool corrected = false;
    for (int32_t y = 0; y < band.height; ++y) {
      if (!correct(pixels.data() + y * row, expected.data() + y * row, band.width, band.y + y)) {
        continue;
      }
      const GeglRectangle line{band.x, band.y + y, band.width, 1};
      gegl_buffer_set(merged.get(), &line, 0, native_, pixels.data() + y * row,
                      GEGL_AUTO_ROWSTRIDE);
      corrected = true;
    }
    if (corrected) gegl_buffer_flush(merged.get());
  });
}

// A row; what is not selected stays as it is. Whether there was anything to correct.
bool MergeCorrection::correct(uint8_t* pixels, const uint8_t* expected, int32_t width,
                              int32_t y) const {
  const auto pixel = static_cast<size_t>(babl_format_get_bytes_per_pixel(native_));
  const bool bytes = babl_format_get_type(native_, 0) == babl_type("u8");
  const std::vector<float> covered = selection_.coverage(selection_.rect().x, y, width);
  bool corrected = false;
  for (const float share : covered) {
    const bool off = bytes ? is_a_step_off<uint8_t>(pixels, expected, pixel)
                           : is_a_step_off<uint16_t>(pixels, expected, pixel);
    if (share > 0 && off) {
      std::memcpy(pixels, expected, pixel);
      corrected = true;
    }
    pixels += pixel;
    expected += pixel;
  }
  return corrected;
}

}  // namespace grainless
