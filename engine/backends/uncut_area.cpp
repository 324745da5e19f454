// SPDX-License-Identifier: MIT
#include "uncut_area.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace grainless {
namespace {

// Enough for all that a few backends may have in their hands: without memory a tile can still be
// put back.
constexpr size_t kRoom = 256;

int32_t even_part(int32_t length, int32_t largest) {
  const int32_t parts = (length - 1) / largest + 1;
  return (length - 1) / parts + 1;
}

// Two rectangles as one, if they are one.
std::optional<Rect> merged(const Rect& a, const Rect& b) {
  if (a.x == b.x && a.width == b.width && (a.bottom() == b.y || b.bottom() == a.y)) {
    return Rect{a.x, std::min(a.y, b.y), a.width, a.height + b.height};
  }
  if (a.y == b.y && a.height == b.height && (a.right() == b.x || b.right() == a.x)) {
    return Rect{std::min(a.x, b.x), a.y, a.width + b.width, a.height};
  }
  return {};
}

}  // namespace

UncutArea::UncutArea(const Rect& area) {
  parts_.reserve(kRoom);
  bands_.reserve(kRoom);
  edges_.reserve(2 * kRoom);
  if (!area.empty()) parts_.push_back(area);
}

int64_t UncutArea::tiles(TileSize largest) const {
  int64_t count = 0;
  for (const Rect& part : parts_) {
    count +=
        int64_t{(part.width - 1) / largest.width + 1} * ((part.height - 1) / largest.height + 1);
  }
  return count;
}

Rect UncutArea::take(TileSize largest) {
  const Rect part = parts_.back();
  parts_.pop_back();
  const Rect tile{part.x, part.y, even_part(part.width, largest.width),
                  even_part(part.height, largest.height)};
  const Rect below{part.x, tile.bottom(), part.width, part.height - tile.height};
  const Rect beside{tile.right(), part.y, part.width - tile.width, tile.height};
  for (const Rect& rest : {below, beside}) {
    if (!rest.empty()) parts_.push_back(rest);
  }
  return tile;
}

void UncutArea::put_back(const Rect& tile) {
  Rect whole = tile;
  for (size_t i = 0; i < parts_.size();) {
    if (const auto one = merged(whole, parts_[i])) {
      whole = *one;
      parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(i));
      i = 0;
    } else {
      ++i;
    }
  }
  parts_.push_back(whole);
  if (parts_.size() > 1) merge_all();
}

// Pairs alone never become one where tiles of several sizes came back in any order: five parts can
// lie around each other like a pinwheel's blades. In bands between all their edges they can.
void UncutArea::merge_all() {
  if (parts_.size() > kRoom) return;  // no room for their edges
  edges_.clear();
  for (const Rect& part : parts_) {
    edges_.push_back(part.y);
    edges_.push_back(part.bottom());
  }
  std::sort(edges_.begin(), edges_.end(), std::greater<>());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  bands_.clear();
  size_t band_below = 0;  // where the band below begins
  for (size_t i = 1; i < edges_.size(); ++i) {
    const size_t band = bands_.size();
    if (!add_band(edges_[i], edges_[i - 1])) return;
    if (joins_band_below(band_below, band)) {
      bands_.resize(band);
    } else {
      band_below = band;
    }
  }
  if (bands_.size() < parts_.size()) parts_.swap(bands_);
}

// The parts' rows from top to bottom, one with their neighbours, the rightmost first.
bool UncutArea::add_band(int32_t top, int32_t bottom) {
  const size_t begin = bands_.size();
  for (const Rect& part : parts_) {
    if (part.y > top || part.bottom() < bottom) continue;
    if (bands_.size() == kRoom) return false;
    bands_.push_back({part.x, top, part.width, bottom - top});
  }
  const auto first = bands_.begin() + static_cast<ptrdiff_t>(begin);
  std::sort(first, bands_.end(), [](const Rect& a, const Rect& b) { return a.x > b.x; });
  size_t count = begin;
  for (size_t i = begin; i < bands_.size(); ++i) {
    Rect& last = bands_[count - (count > begin)];
    if (count > begin && bands_[i].right() == last.x) {
      last = {bands_[i].x, top, last.width + bands_[i].width, last.height};
    } else {
      bands_[count++] = bands_[i];
    }
  }
  bands_.resize(count);
  return true;
}

// Whether the band from `band` on has the columns of the one below it, which then takes its rows.
bool UncutArea::joins_band_below(size_t below, size_t band) {
  if (band - below != bands_.size() - band) return false;
  for (size_t i = 0; i < band - below; ++i) {
    const Rect &a = bands_[below + i], &b = bands_[band + i];
    if (a.x != b.x || a.width != b.width || b.bottom() != a.y) return false;
  }
  for (size_t i = 0; i < band - below; ++i) {
    Rect &a = bands_[below + i], b = bands_[band + i];
    a = {a.x, b.y, a.width, a.height + b.height};
  }
  return true;
}

}  // namespace grainless
