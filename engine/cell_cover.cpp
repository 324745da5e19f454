// SPDX-License-Identifier: MIT
#include "cell_cover.h"

#include <iterator>

namespace grainless {
namespace {

// Of beginning with a rectangle: threads wait for each other, and a card for its first pixels.
constexpr double kBegin = 16;  // cells

struct Covered {
  double cost = 0;
  std::vector<Rect> parts;
};

class Cover {
 public:
  Cover(const CellMask& mask, double margin) : mask_(mask), margin_(margin) {}

  // The smallest rectangle that holds what is marked in a part, or what two halves of it take.
  Covered of(const Rect& part) const {
    const Rect held = marked(part);
    if (held.empty()) return {};
    Covered whole{cost(held), {held}};
    if (held.area() == 1) return whole;
    Rect first = held, second = held;
    if (held.width >= held.height) {
      first.width /= 2;
      second = {first.right(), held.y, held.width - first.width, held.height};
    } else {
      first.height /= 2;
      second = {held.x, first.bottom(), held.width, held.height - first.height};
    }
    Covered halves = of(first), more = of(second);
    if (halves.cost + more.cost >= whole.cost) return whole;
    halves.cost += more.cost;
    std::move(more.parts.begin(), more.parts.end(), std::back_inserter(halves.parts));
    return halves;
  }

  // Halves know nothing of what lies beside them.
  void join(std::vector<Rect>& parts) const {
    for (size_t i = 0; i < parts.size(); ++i) {
      for (size_t j = 0; j < parts.size();) {
        const Rect both = bounds(parts[i], parts[j]);
        if (i == j || cost(both) > cost(parts[i]) + cost(parts[j])) {
          ++j;
          continue;
        }
        parts[i] = both;
        parts.erase(parts.begin() + static_cast<ptrdiff_t>(j));
        if (j < i) --i;
        j = 0;
      }
    }
  }

 private:
  double cost(const Rect& part) const {
    return kBegin + (part.width + 2 * margin_) * (part.height + 2 * margin_);
  }

  Rect marked(const Rect& part) const {
    int32_t left = part.right(), right = part.x, top = part.bottom(), bottom = part.y;
    for (int32_t y = part.y; y < part.bottom(); ++y) {
      for (int32_t x = part.x; x < part.right(); ++x) {
        if (!mask_.at(x, y)) continue;
        left = std::min(left, x);
        right = std::max(right, x + 1);
        top = std::min(top, y);
        bottom = y + 1;
      }
    }
    return {left, top, std::max(0, right - left), std::max(0, bottom - top)};
  }

  const CellMask& mask_;
  const double margin_;
};

int32_t cells_of(int32_t pixels) {
  return (pixels + kCell - 1) / kCell;
}

}  // namespace

CellMask::CellMask(const Rect& pixels)
    : pixels_(pixels),
      all_{0, 0, cells_of(pixels.width), cells_of(pixels.height)},
      marked_(static_cast<size_t>(all_.area())) {}

Rect CellMask::pixels(const Rect& cells) const {
  return intersect({pixels_.x + cells.x * kCell, pixels_.y + cells.y * kCell, cells.width * kCell,
                    cells.height * kCell},
                   pixels_);
}

Rect CellMask::cells(const Rect& pixels) const {
  const int32_t x = (pixels.x - pixels_.x) / kCell, y = (pixels.y - pixels_.y) / kCell;
  return {x, y, cells_of(pixels.right() - pixels_.x) - x,
          cells_of(pixels.bottom() - pixels_.y) - y};
}

std::vector<Rect> cover(const CellMask& mask, double margin) {
  const Cover one(mask, margin);
  std::vector<Rect> parts = one.of(mask.all()).parts;
  one.join(parts);
  return parts;
}

}  // namespace grainless
