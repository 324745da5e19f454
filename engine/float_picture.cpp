// SPDX-License-Identifier: MIT
#include "float_picture.h"

#include <algorithm>

#include "engine/cpu/frame/rows.h"

namespace grainless {

FloatPicture::FloatPicture(int32_t channels, int32_t picture_width, int32_t picture_height,
                           const Rect& held, ThreadPool& pool)
    : format{Component::kFloat, channels},
      width(picture_width),
      height(picture_height),
      rect(held),
      values(static_cast<size_t>(held.area() * channels)) {
  const auto row = static_cast<size_t>(held.width) * static_cast<size_t>(channels);
  over_rows({0, 0, held.width, held.height}, pool, [&](int32_t y) {
    std::fill_n(values.data() + static_cast<size_t>(y) * row, row, 0.0f);
  });
}

Plan plain_pixels(PixelFormat format) {
  Plan plan{};
  plan.format = format;
  plan.channels = format.colours();
  plan.valid = kAnyFinite;
  return plan;
}

AbiTile tile_of(const ConstImage& source, const MutableImage& target) {
  return {source.width, source.height,    source.rect, target.rect,
          source.data,  source.row_bytes, target.data, target.row_bytes};
}

}  // namespace grainless
