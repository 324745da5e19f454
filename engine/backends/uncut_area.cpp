// SPDX-License-Identifier: MIT
#include "uncut_area.h"

#include <algorithm>
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
}

}  // namespace grainless
