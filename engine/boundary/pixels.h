// SPDX-License-Identifier: MIT
// Interleaved pixels in a host's own encoding: what goes into and comes out of a backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rect.h"

namespace grainless {

inline constexpr int32_t kMaxChannels = 3;  // luma and two chroma planes, or grey alone
inline constexpr int32_t kMaxLevels = 4;    // full, half, quarter, eighth resolution

enum class Component : int32_t { kU8 = 0, kU16 = 1, kHalf = 2, kFloat = 3 };

// Colour values are perceptually encoded (babl R~G~B~ or Y~): integers span 0..max, floats 0..1
// nominally and may lie outside. Alpha, when present, is the last channel and passes through.
struct PixelFormat {
  Component component = Component::kFloat;
  int32_t channels = 1;  // 1 Y, 2 YA, 3 RGB, 4 RGBA

  constexpr bool has_alpha() const { return channels == 2 || channels == 4; }
  constexpr int32_t colours() const { return channels >= 3 ? 3 : 1; }
  constexpr int32_t component_bytes() const {
    return component == Component::kU8 ? 1 : component == Component::kFloat ? 4 : 2;
  }
  constexpr int32_t pixel_bytes() const { return channels * component_bytes(); }
  bool operator==(const PixelFormat&) const = default;
};

// The colour values that take part, in 8-bit steps; what lies outside is treated like a value that
// is not finite. Largest: beyond it luma, a sum of three, would be infinite.
struct ValueRange {
  float low, high;
};
inline constexpr ValueRange kAnyFinite{-3.0e38f, 3.0e38f};

// How a plane's values become match values (pixel_math.h: match_value): linear within `knee` of the
// centre, an eighth of the slope outside, at most +-most * scale. In 8-bit steps, all but the
// scale.
struct MatchCurve {
  float centre, scale, knee, most;
};
inline constexpr float kMatchKnee = 256.0f, kMatchMost = 511.875f;  // of usual pictures

// Pixels of one rectangle of an image of width × height. Rows are row_bytes apart (may exceed the
// row's own bytes); data points at the pixel (rect.x, rect.y).
struct ConstImage {
  PixelFormat format;
  int32_t width = 0, height = 0;  // of the whole image
  Rect rect;                      // what data holds
  const void* data = nullptr;
  ptrdiff_t row_bytes = 0;
};

struct MutableImage {
  PixelFormat format;
  int32_t width = 0, height = 0;
  Rect rect;
  void* data = nullptr;
  ptrdiff_t row_bytes = 0;
};

inline const void* pixel_at(const ConstImage& image, int32_t x, int32_t y) {
  return static_cast<const uint8_t*>(image.data) + (y - image.rect.y) * image.row_bytes +
         ptrdiff_t{x - image.rect.x} * image.format.pixel_bytes();
}

inline void* pixel_at(const MutableImage& image, int32_t x, int32_t y) {
  return static_cast<uint8_t*>(image.data) + (y - image.rect.y) * image.row_bytes +
         ptrdiff_t{x - image.rect.x} * image.format.pixel_bytes();
}

// Fills target from an image of the same format that holds its rectangle.
inline void copy_pixels(const ConstImage& source, const MutableImage& target) {
  const Rect& rect = target.rect;
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    std::memcpy(pixel_at(target, rect.x, y), pixel_at(source, rect.x, y),
                static_cast<size_t>(rect.width) * target.format.pixel_bytes());
  }
}

}  // namespace grainless
