// SPDX-License-Identifier: MIT
#include "survey.h"

#include <utility>

namespace grainless {
namespace {

Rect rect_of(const SampleTile& tile) {
  return {tile.x, tile.y, tile.width, tile.height};
}

}  // namespace

Survey::Survey(PixelFormat format, int32_t width, int32_t height)
    : format_(format),
      width_(width),
      height_(height),
      range_({format, width, height}, 1),
      tiles_(sample_tiles(width, height, kSampleTiles)) {
  for (const SampleTile& tile : tiles_) {
    pixels_.emplace_back(static_cast<size_t>(rect_of(tile).area()) * format.pixel_bytes());
  }
}

void Survey::add(const ConstImage& band, int32_t first, int32_t end) {
  range_.add(band, first, end);
  for (size_t i = 0; i < tiles_.size(); ++i) {
    const Rect tile = rect_of(tiles_[i]);
    const Rect rows = intersect(tile, {0, first, width_, end - first});
    if (rows.empty()) continue;
    const ptrdiff_t row_bytes = ptrdiff_t{tile.width} * format_.pixel_bytes();
    copy_pixels(band, {format_, width_, height_, rows,
                       pixels_[i].data() + (rows.y - tile.y) * row_bytes, row_bytes});
  }
}

Sample Survey::sample(ThreadPool& pool, const Callbacks& callbacks) {
  const auto part = [&](size_t i) {
    const Rect tile = rect_of(tiles_[i]);
    return ConstImage{format_,           width_,
                      height_,           tile,
                      pixels_[i].data(), ptrdiff_t{tile.width} * format_.pixel_bytes()};
  };
  return take_sample(format_.colours(), tiles_, part, range(), pool, callbacks);
}

}  // namespace grainless
