// SPDX-License-Identifier: MIT
#include "merge_correction.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

namespace grainless {
namespace {

constexpr int32_t kRows = 128;  // a row of GIMP's tiles

template <typename Body>
void for_each_band(const Rect& rect, const Body& body) {
  for (int32_t y = rect.y; y < rect.bottom(); y += kRows) {
    body(GeglRectangle{rect.x, y, rect.width, std::min(kRows, rect.bottom() - y)});
  }
}

std::vector<uint8_t> read(GeglBuffer* buffer, const GeglRectangle& band, const Babl* format) {
  const int bytes = babl_format_get_bytes_per_pixel(format);
  std::vector<uint8_t> pixels(static_cast<size_t>(bytes) * band.width * band.height);
  gegl_buffer_get(buffer, &band, 1.0, format, pixels.data(), GEGL_AUTO_ROWSTRIDE, GEGL_ABYSS_NONE);
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

bool has_steps(const Babl* native) {
  const Babl* type = babl_format_get_type(native, 0);
  return type == babl_type("u8") || type == babl_type("u16");
}

}  // namespace

MergeCorrection::MergeCorrection(GimpDrawable* drawable)
    : drawable_(drawable), native_(gimp_drawable_get_format(drawable)), selection_(drawable) {
  if (selection_.shown().whole || selection_.rect().empty() || !has_steps(native_)) return;
  selection_.load(std::numeric_limits<int64_t>::max());
  const Rect& rect = selection_.rect();
  const GeglRectangle area{rect.x, rect.y, rect.width, rect.height};
  expected_.reset(gegl_buffer_new(&area, native_));
  const Buffer before(gimp_drawable_get_buffer(drawable_));
  const Buffer after(gimp_drawable_get_shadow_buffer(drawable_));
  const auto pixel = static_cast<size_t>(babl_format_get_bytes_per_pixel(native_));
  for_each_band(rect, [&](const GeglRectangle& band) {
    const std::vector<uint8_t> originals = read(before.get(), band, native_);
    std::vector<uint8_t> results = read(after.get(), band, native_);
    const size_t row = pixel * static_cast<size_t>(band.width);
    for (int32_t y = 0; y < band.height; ++y) {
      selection_.merge(native_, band.x, band.y + y, band.width, originals.data() + y * row,
                       results.data() + y * row);
    }
    gegl_buffer_set(expected_.get(), &band, 0, native_, results.data(), GEGL_AUTO_ROWSTRIDE);
  });
}

void MergeCorrection::apply() const {
  if (!expected_) return;
  const Buffer merged(gimp_drawable_get_buffer(drawable_));
  const auto pixel = static_cast<size_t>(babl_format_get_bytes_per_pixel(native_));
  for_each_band(selection_.rect(), [&](const GeglRectangle& band) {
    std::vector<uint8_t> pixels = read(merged.get(), band, native_);
    const std::vector<uint8_t> expected = read(expected_.get(), band, native_);
    const size_t row = pixel * static_cast<size_t>(band.width);
    for (int32_t y = 0; y < band.height; ++y) {
      if (!correct(pixels.data() + y * row, expected.data() + y * row, band.width, band.y + y)) {
        continue;
      }
      const GeglRectangle line{band.x, band.y + y, band.width, 1};
      gegl_buffer_set(merged.get(), &line, 0, native_, pixels.data() + y * row,
                      GEGL_AUTO_ROWSTRIDE);
    }
  });
  gegl_buffer_flush(merged.get());
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
