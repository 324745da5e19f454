// SPDX-License-Identifier: MIT
#include "float_picture.h"

namespace grainless {

FloatPicture::FloatPicture(int32_t channels, int32_t picture_width, int32_t picture_height,
                           const Rect& held)
    : format{Component::kFloat, channels},
      width(picture_width),
      height(picture_height),
      rect(held),
      values(held.area() * channels) {}

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
