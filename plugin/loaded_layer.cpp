// SPDX-License-Identifier: MIT
#include "loaded_layer.h"

#include <algorithm>

namespace grainless {
namespace {

// A multiple of GIMP's tiles and of every level's pixels; one takes about 2 ms where GEGL has to
// convert (87 ns a pixel).
constexpr int32_t kChunkWidth = 128, kChunkHeight = 128;

}  // namespace

LoadedLayer::LoadedLayer(GimpDrawable* drawable)
    : io_(drawable),
      columns_((io_.width() + kChunkWidth - 1) / kChunkWidth),
      rows_((io_.height() + kChunkHeight - 1) / kChunkHeight),
      left_(columns_ * rows_),
      loaded_(size_t(columns_) * rows_),
      sums_(loaded_.size()) {}

void LoadedLayer::allocate() {
  for (int32_t level = 1; level < ui::kLevels; ++level) {
    levels_[level] = ui::Bitmap(ui::at_level(io_.whole(), level));
  }
  pixels_ =
      std::make_unique<PixelBuffer>(io_.encoding().format, io_.width(), io_.height(), io_.whole());
}

void LoadedLayer::show(Screen* screen) {
  screen_ = screen;
  if (screen == nullptr) return;
  if (!pixels_) allocate();
  if (screen->pixels.rect != io_.whole()) screen->pixels = ui::Bitmap(io_.whole());
  std::fill(screen->pixels.pixels.begin(), screen->pixels.pixels.end(), 0);
  screen->chunks.assign(loaded_.size(), 0);
}

Rect LoadedLayer::chunk(int32_t index) const {
  return intersect(
      {index % columns_ * kChunkWidth, index / columns_ * kChunkHeight, kChunkWidth, kChunkHeight},
      io_.whole());
}

std::vector<int32_t> LoadedLayer::chunks_in(const Rect& rect) const {
  const Rect part = intersect(rect, io_.whole());
  std::vector<int32_t> indices;
  for (int32_t row = part.y / kChunkHeight; row * kChunkHeight < part.bottom(); ++row) {
    for (int32_t column = part.x / kChunkWidth; column * kChunkWidth < part.right(); ++column) {
      indices.push_back(row * columns_ + column);
    }
  }
  return indices;
}

bool LoadedLayer::is_ready(int32_t index) const {
  return loaded_[index] != 0 && (screen_ == nullptr || screen_->chunks[index] != 0);
}

void LoadedLayer::load_chunk(int32_t index) {
  const Rect rect = chunk(index);
  ui::Bitmap own;
  if (screen_ == nullptr) own = ui::Bitmap(rect);
  ui::Bitmap& display = screen_ != nullptr ? screen_->pixels : own;
  if (loaded_[index] == 0) sums_[index] = io_.read(rect, *pixels_);
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    to_preview(io_.encoding(), io_.encoding().engine, pixels_->at(rect.x, y), display.at(rect.x, y),
               rect.width);
  }
  if (screen_ != nullptr) screen_->chunks[index] = 1;
  if (loaded_[index] != 0) return;
  for (int32_t level = 1; level < ui::kLevels; ++level) {
    ui::halve(level > 1 ? levels_[level - 1] : display, ui::at_level(rect, level), levels_[level]);
  }
  loaded_[index] = 1;
  --left_;
}

bool LoadedLayer::load(const Rect& rect, int64_t end) {
  if (!pixels_) allocate();
  bool accessible = false;
  for (const int32_t index : chunks_in(rect)) {
    if (is_ready(index)) continue;
    if (!accessible) io_.expect_accessible();
    accessible = true;
    if (g_get_monotonic_time() > end) return false;
    load_chunk(index);
  }
  return true;
}

bool LoadedLayer::is_unchanged(int32_t index, GeglBuffer* now) const {
  return loaded_[index] == 0 || io_.checksum_of(now, chunk(index)) == sums_[index];
}

bool LoadedLayer::is_loaded(const Rect& rect) const {
  if (left_ == 0) return true;
  const std::vector<int32_t> chunks = chunks_in(rect);
  return std::all_of(chunks.begin(), chunks.end(),
                     [this](int32_t index) { return loaded_[index] != 0; });
}

}  // namespace grainless
