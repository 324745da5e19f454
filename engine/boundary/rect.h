// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

namespace grainless {

// Half-open rectangle in pixels of the whole image (absolute coordinates).
struct Rect {
  int32_t x = 0, y = 0, width = 0, height = 0;

  constexpr int32_t right() const { return x + width; }
  constexpr int32_t bottom() const { return y + height; }
  bool empty() const { return width <= 0 || height <= 0; }
  int64_t area() const { return empty() ? 0 : int64_t{width} * height; }
  bool contains(const Rect& r) const {
    return r.x >= x && r.y >= y && r.right() <= right() && r.bottom() <= bottom();
  }
  constexpr bool contains(int32_t px, int32_t py) const {
    return px >= x && py >= y && px < right() && py < bottom();
  }
  bool operator==(const Rect&) const = default;
};

inline Rect intersect(const Rect& a, const Rect& b) {
  const int32_t x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  return {x, y, std::max(0, std::min(a.right(), b.right()) - x),
          std::max(0, std::min(a.bottom(), b.bottom()) - y)};
}

// The smallest that holds both.
inline Rect bounds(const Rect& a, const Rect& b) {
  const int32_t x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.right(), b.right()) - x, std::max(a.bottom(), b.bottom()) - y};
}

inline Rect expand(const Rect& r, int32_t by) {
  return {r.x - by, r.y - by, r.width + 2 * by, r.height + 2 * by};
}

}  // namespace grainless
