// SPDX-License-Identifier: MIT
#include "coarse_preview.h"

#include <algorithm>

namespace grainless {
namespace {

constexpr int32_t kDepth = 2;  // layers on either side, at most

void grey_from_display(const ui::Bitmap& display, PixelBuffer& grey) {
  for (int32_t y = grey.rect().y; y < grey.rect().bottom(); ++y) {
    const uint32_t* from = display.at(grey.rect().x, y);
    uint8_t* to = grey.at(grey.rect().x, y);
    for (int32_t x = 0; x < grey.rect().width; ++x) {
      to[2 * x] = static_cast<uint8_t>(from[x]);
      to[2 * x + 1] = static_cast<uint8_t>(from[x] >> 24);
    }
  }
}

void grey_to_display(const PixelBuffer& grey, ui::Bitmap& display) {
  for (int32_t y = grey.rect().y; y < grey.rect().bottom(); ++y) {
    const uint8_t* from = grey.at(grey.rect().x, y);
    uint32_t* to = display.at(grey.rect().x, y);
    for (int32_t x = 0; x < grey.rect().width; ++x) {
      to[x] = from[2 * x] * 0x010101u | uint32_t{from[2 * x + 1]} << 24;
    }
  }
}

ptrdiff_t row_bytes(const ui::Bitmap& bitmap) {
  return ptrdiff_t{bitmap.rect.width} * 4;
}

}  // namespace

Params coarse_params(Params params, int32_t reduction) {
  params.quality = static_cast<int32_t>(Quality::kFast);
  params.search = params.patch = params.step = params.group = 0;
  if (params.scales > 0) params.scales = std::max(1, params.scales - reduction);
  params.depth = std::min(params.depth, kDepth);
  if (reduction > 0) {
    params.stages = static_cast<int32_t>(Stages::kFirst);
    // A star of two pixels is one here, and would seem to go.
    params.impulse = static_cast<int32_t>(ImpulseWay::kOff);
  }
  return params;
}

NoiseModel reduced_noise(const NoiseModel& noise, int32_t reduction) {
  NoiseModel reduced = noise_at_level(noise, reduction);
  reduced.range = {};  // of the screen's 8 bits
  change_lone(reduced, [](PictureNoise& layer) { layer.range = {}; });
  return reduced;
}

// Blue comes first, which changes nothing but the sign of a colour difference.
ConstImage ScreenPixels::image(const ui::Bitmap& level, int32_t width, int32_t height,
                               const Rect& rect) {
  if (format_.colours() == 3) {
    return {format_, width, height, level.rect, level.pixels.data(), row_bytes(level)};
  }
  sources_.emplace_back(format_, width, height, rect);
  grey_from_display(level, sources_.back());
  return sources_.back().image();
}

MutableImage ScreenPixels::target(ui::Bitmap& bitmap, int32_t width, int32_t height) {
  if (format_.colours() == 3) {
    return {format_, width, height, bitmap.rect, bitmap.pixels.data(), row_bytes(bitmap)};
  }
  target_ = std::make_unique<PixelBuffer>(format_, width, height, bitmap.rect);
  return target_->writable();
}

void ScreenPixels::finish(ui::Bitmap& bitmap) const {
  if (target_) grey_to_display(*target_, bitmap);
}

}  // namespace grainless
