// SPDX-License-Identifier: MIT
#include "active_channels.h"

#include <cstring>

namespace grainless {

ActiveChannels::ActiveChannels(GimpDrawable* drawable) {
  if (!gimp_item_is_layer(GIMP_ITEM(drawable))) return;
  GimpImage* image = gimp_item_get_image(GIMP_ITEM(drawable));
  if (gimp_drawable_is_gray(drawable)) {
    active_.fill(gimp_image_get_component_active(image, GIMP_CHANNEL_GRAY) != FALSE);
    return;
  }
  constexpr GimpChannelType kTypes[] = {GIMP_CHANNEL_RED, GIMP_CHANNEL_GREEN, GIMP_CHANNEL_BLUE};
  for (size_t c = 0; c < active_.size(); ++c) {
    active_[c] = gimp_image_get_component_active(image, kTypes[c]) != FALSE;
  }
}

void ActiveChannels::restore(const Babl* native, const uint8_t* original, uint8_t* result,
                             int32_t count) const {
  if (all()) return;
  const auto pixel = static_cast<size_t>(babl_format_get_bytes_per_pixel(native));
  const auto channels = static_cast<size_t>(babl_format_get_n_components(native));
  const size_t value = pixel / channels, colours = channels < 3 ? 1 : 3;
  for (; count > 0; --count, original += pixel, result += pixel) {
    for (size_t c = 0; c < colours; ++c) {
      if (!active_[c]) std::memcpy(result + c * value, original + c * value, value);
    }
  }
}

void ActiveChannels::restore(const ui::Bitmap& original, ui::Bitmap& result) const {
  uint32_t kept = 0;
  for (size_t c = 0; c < active_.size(); ++c) kept |= active_[c] ? 0u : 0xff0000u >> (8 * c);
  if (kept == 0) return;
  const Rect& part = result.rect;
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    const uint32_t* from = original.at(part.x, y);
    uint32_t* to = result.at(part.x, y);
    for (int32_t x = 0; x < part.width; ++x) to[x] = (to[x] & ~kept) | (from[x] & kept);
  }
}

}  // namespace grainless
