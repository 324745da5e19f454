// SPDX-License-Identifier: MIT
#include "loaded_layer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "layer_bands.h"

namespace grainless {
namespace {

// A multiple of GIMP's tiles and of every level's pixels; one takes about 2 ms where GEGL has to
// convert (87 ns a pixel).
constexpr int32_t kChunkWidth = 128, kChunkHeight = 128;
// Of a layer that is held in parts, the finest smaller picture that is held as a whole: a sixteenth
// of its pixels.
constexpr int32_t kFirstOfParts = 2;

bool fits(const DrawableIo& io) {
  const auto pixel = static_cast<uint64_t>(io.encoding().format.pixel_bytes());
  return static_cast<uint64_t>(io.whole().area()) * pixel <= host_memory();
}

template <typename Buffer>
void copy_rows(const Buffer& from, const Rect& part, size_t pixel_bytes, Buffer& to) {
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    std::memcpy(to.at(part.x, y), from.at(part.x, y), pixel_bytes * size_t(part.width));
  }
}

}  // namespace

LoadedLayer::LoadedLayer(GimpDrawable* drawable, bool in_parts)
    : io_(drawable),
      to_preview_(io_.encoding(), io_.encoding().engine),
      whole_(!in_parts || fits(io_)),
      first_level_(whole_ ? 1 : kFirstOfParts),
      columns_((io_.width() + kChunkWidth - 1) / kChunkWidth),
      rows_((io_.height() + kChunkHeight - 1) / kChunkHeight),
      left_(columns_ * rows_),
      fetched_(size_t(columns_) * rows_),
      loaded_(fetched_.size()),
      sums_(loaded_.size()) {
  if (!whole_) limit_tile_cache(kTileCache);
}

void LoadedLayer::allocate() {
  if (allocated_) return;
  allocated_ = true;
  for (int32_t level = first_level_; level < ui::kLevels; ++level) {
    levels_[level] = ui::Bitmap(ui::at_level(io_.whole(), level));
  }
  if (whole_) {
    pixels_ = std::make_shared<PixelBuffer>(io_.encoding().format, io_.width(), io_.height(),
                                            io_.whole());
  } else {
    held_.resize(loaded_.size());
  }
}

void LoadedLayer::show(Screen* screen) {
  screen_ = screen;
  if (screen == nullptr) return;
  allocate();
  if (!whole_) return;
  if (screen->pixels.rect != io_.whole()) {
    screen->pixels = ui::Bitmap(io_.whole());
  } else {
    std::fill(screen->pixels.pixels.begin(), screen->pixels.pixels.end(), 0);
  }
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

bool LoadedLayer::has(int32_t index, Depth depth) const {
  switch (depth) {
    case Depth::kPixels:
      return fetched_[index] != 0;
    case Depth::kLevels:
      return loaded_[index] != 0;
    case Depth::kAll:
      break;
  }
  if (!whole_) return held_[index] != nullptr;
  return loaded_[index] != 0 && (screen_ == nullptr || screen_->chunks[index] != 0);
}

void LoadedLayer::to_display(const PixelBuffer& pixels, const Rect& rect,
                             ui::Bitmap& display) const {
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    to_preview_.convert(pixels.at(rect.x, y), display.at(rect.x, y), rect.width);
  }
}

void LoadedLayer::fill_levels(const ui::Bitmap& display, const Rect& rect) {
  ui::Bitmap between;  // a level that is not held
  const ui::Bitmap* finer = &display;
  for (int32_t level = 1; level < ui::kLevels; ++level) {
    const Rect part = ui::at_level(rect, level);
    if (level < first_level_) between = ui::Bitmap(part);
    ui::Bitmap& coarser = level < first_level_ ? between : levels_[level];
    ui::halve(*finer, part, coarser);
    finer = &coarser;
  }
}

// GIMP's pixels may have changed since they were read first; then the smaller pictures are wrong.
void LoadedLayer::note_sum(int32_t index, uint64_t sum) {
  found_change_ = found_change_ || (loaded_[index] != 0 && sums_[index] != sum);
  sums_[index] = sum;
}

void LoadedLayer::fetch_chunk(int32_t index) {
  if (fetched_[index] != 0) return;
  ++reads_;
  sums_[index] = io_.read(chunk(index), *pixels_);
  fetched_[index] = 1;
  ++fetches_;
}

void LoadedLayer::load_into_whole(int32_t index) {
  fetch_chunk(index);
  const Rect rect = chunk(index);
  ui::Bitmap own;
  if (screen_ == nullptr) own = ui::Bitmap(rect);
  ui::Bitmap& display = screen_ != nullptr ? screen_->pixels : own;
  to_display(*pixels_, rect, display);
  if (screen_ != nullptr) screen_->chunks[index] = 1;
  if (loaded_[index] == 0) fill_levels(display, rect);
}

void LoadedLayer::load_apart(int32_t index) {
  const Rect rect = chunk(index);
  auto held = std::make_unique<Held>();
  held->pixels =
      std::make_unique<PixelBuffer>(io_.encoding().format, io_.width(), io_.height(), rect);
  held->display = ui::Bitmap(rect);
  held->used = ++uses_;
  ++reads_;
  note_sum(index, io_.read(rect, *held->pixels));
  to_display(*held->pixels, rect, held->display);
  if (loaded_[index] == 0) fill_levels(held->display, rect);
  held_bytes_ += static_cast<uint64_t>(rect.area()) * (io_.encoding().format.pixel_bytes() + 4u);
  held_[index] = std::move(held);
  make_room();
}

void LoadedLayer::load_chunk(int32_t index) {
  if (whole_) {
    load_into_whole(index);
  } else {
    load_apart(index);
  }
  if (loaded_[index] == 0) --left_;
  loaded_[index] = 1;
}

bool LoadedLayer::is_kept(int32_t index) const {
  const Rect rect = chunk(index);
  if (!intersect(loading_, rect).empty()) return true;
  return std::any_of(kept_.begin(), kept_.end(),
                     [&](const Rect& kept) { return !intersect(kept, rect).empty(); });
}

// The chunks that were used longest ago go, a quarter of what may be held at once.
void LoadedLayer::make_room() {
  const uint64_t most = host_memory() / 2;
  if (held_bytes_ <= most) return;
  std::vector<std::pair<uint64_t, int32_t>> oldest;
  for (int32_t index = 0; index < chunks(); ++index) {
    if (held_[index] && !is_kept(index)) oldest.emplace_back(held_[index]->used, index);
  }
  std::sort(oldest.begin(), oldest.end());
  for (const auto& [used, index] : oldest) {
    if (held_bytes_ <= most - most / 4) return;
    if (used == uses_) return;  // has just come
    held_bytes_ -=
        static_cast<uint64_t>(chunk(index).area()) * (io_.encoding().format.pixel_bytes() + 4u);
    held_[index].reset();
  }
}

bool LoadedLayer::load_missing(const std::vector<int32_t>& chunks, int64_t end, Depth depth) {
  allocate();
  bool accessible = false;
  for (const int32_t index : chunks) {
    if (has(index, depth)) {
      if (!whole_ && held_[index]) held_[index]->used = ++uses_;
      continue;
    }
    if (!accessible) io_.expect_accessible();
    accessible = true;
    if (g_get_monotonic_time() > end) return false;
    if (depth == Depth::kPixels) {
      fetch_chunk(index);
    } else {
      load_chunk(index);
    }
  }
  return true;
}

bool LoadedLayer::load(const Rect& rect, int64_t end) {
  loading_ = rect;
  return load_missing(chunks_in(rect), end, Depth::kAll);
}

bool LoadedLayer::look_at(const Rect& rect, int64_t end) {
  if (whole_) return load(rect, end);
  loading_ = {};
  return load_missing(chunks_in(rect), end, Depth::kLevels);
}

// All at once: GIMP is asked about the layer before the first chunk that is read, which takes as
// long as a chunk.
bool LoadedLayer::fetch(const std::vector<Rect>& rects, int64_t end) {
  std::vector<int32_t> chunks;
  for (const Rect& rect : rects) {
    const std::vector<int32_t> more = chunks_in(rect);
    chunks.insert(chunks.end(), more.begin(), more.end());
  }
  return load_missing(chunks, end, Depth::kPixels);
}

std::shared_ptr<const PixelBuffer> LoadedLayer::part(const Rect& rect) const {
  if (whole_) return pixels_;
  auto copy = std::make_shared<PixelBuffer>(io_.encoding().format, io_.width(), io_.height(), rect);
  for (const int32_t index : chunks_in(rect)) {
    if (!held_[index]) continue;
    copy_rows(*held_[index]->pixels, intersect(chunk(index), rect),
              static_cast<size_t>(io_.encoding().format.pixel_bytes()), *copy);
  }
  return copy;
}

bool LoadedLayer::has_level(int32_t level) const {
  return level >= first_level_ || (level == 0 && whole_ && screen_ != nullptr);
}

std::shared_ptr<const ui::Bitmap> LoadedLayer::level_part(int32_t level, const Rect& rect) const {
  if (has_level(level)) {
    return {std::shared_ptr<void>(), level > 0 ? &levels_[level] : &screen_->pixels};
  }
  const int32_t side = 1 << level;
  const Rect fine =
      intersect({rect.x * side, rect.y * side, rect.width * side, rect.height * side}, io_.whole());
  auto bitmap = std::make_shared<ui::Bitmap>(fine);
  for (const int32_t index : chunks_in(fine)) {
    if (!held_[index]) continue;
    held_[index]->used = ++uses_;
    copy_rows(held_[index]->display, intersect(chunk(index), fine), 4, *bitmap);
  }
  for (int32_t i = 1; i <= level; ++i) {
    auto coarser = std::make_shared<ui::Bitmap>(ui::at_level(fine, i));
    ui::halve(*bitmap, coarser->rect, *coarser);
    bitmap = std::move(coarser);
  }
  return bitmap;
}

double LoadedLayer::progress() const {
  const double drawn = chunks() - left_;
  return (whole_ ? (drawn + fetches_) / 2 : drawn) / chunks();
}

bool LoadedLayer::is_unchanged(int32_t index, GeglBuffer* now) const {
  return loaded_[index] == 0 || io_.checksum_of(now, chunk(index)) == sums_[index];
}

bool LoadedLayer::has_seen(const Rect& rect) const {
  const std::vector<int32_t> chunks = chunks_in(rect);
  return std::all_of(chunks.begin(), chunks.end(),
                     [this](int32_t index) { return loaded_[index] != 0; });
}

bool LoadedLayer::has_fetched(const std::vector<Rect>& rects) const {
  return std::all_of(rects.begin(), rects.end(), [this](const Rect& rect) {
    const std::vector<int32_t> chunks = chunks_in(rect);
    return std::all_of(chunks.begin(), chunks.end(),
                       [this](int32_t index) { return fetched_[index] != 0; });
  });
}

bool LoadedLayer::is_loaded(const Rect& rect) const {
  if (whole_) return left_ == 0 || has_seen(rect);
  if (!allocated_) return false;
  const std::vector<int32_t> chunks = chunks_in(rect);
  return std::all_of(chunks.begin(), chunks.end(),
                     [this](int32_t index) { return held_[index] != nullptr; });
}

}  // namespace grainless
