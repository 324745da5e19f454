// SPDX-License-Identifier: MIT
#include "picture.h"

#include <algorithm>
#include <cstring>

namespace grainless::ui {
namespace {

int32_t up(int32_t value, int32_t level) {
  return (value + (1 << level) - 1) >> level;
}

// The mean of `count` (1, 2 or 4) pixels, channel by channel, rounded.
uint32_t mean(const uint32_t* pixels, uint32_t count) {
  uint32_t even = 0, odd = 0;  // two channels in 16 bits each
  for (uint32_t i = 0; i < count; ++i) {
    even += pixels[i] & 0x00ff00ffu;
    odd += pixels[i] >> 8 & 0x00ff00ffu;
  }
  const uint32_t shift = count == 4 ? 2 : count / 2, half = count / 2 * 0x00010001u;
  return ((even + half) >> shift & 0x00ff00ffu) | ((odd + half) >> shift & 0x00ff00ffu) << 8;
}

// a + (b - a) · weight / 256, channel by channel.
uint32_t mix(uint32_t a, uint32_t b, uint32_t weight) {
  const uint32_t even = (a & 0x00ff00ffu) * (256 - weight) + (b & 0x00ff00ffu) * weight;
  const uint32_t odd = (a >> 8 & 0x00ff00ffu) * (256 - weight) + (b >> 8 & 0x00ff00ffu) * weight;
  return (even >> 8 & 0x00ff00ffu) | (odd & 0xff00ff00u);
}

// pixel + (to - from), channel by channel, with pixel's alpha, which no colour exceeds.
uint32_t moved(uint32_t pixel, uint32_t from, uint32_t to) {
  const auto value = [](uint32_t p, int shift) { return static_cast<int32_t>(p >> shift & 255); };
  const int32_t alpha = value(pixel, 24);
  uint32_t result = pixel & 0xff000000u;
  for (int shift = 0; shift < 24; shift += 8) {
    const int32_t sum = value(pixel, shift) + value(to, shift) - value(from, shift);
    result |= static_cast<uint32_t>(std::clamp(sum, 0, alpha)) << shift;
  }
  return result;
}

// Copies a bitmap of level `from` into a target of level `to`; the nearest pixels where they
// differ.
void copy(const Bitmap& bitmap, int32_t from, Bitmap& target, int32_t to) {
  if (from == to) {
    const Rect part = intersect(bitmap.rect, target.rect);
    for (int32_t y = part.y; y < part.bottom(); ++y) {
      std::memcpy(target.at(part.x, y), bitmap.at(part.x, y), size_t(part.width) * 4);
    }
    return;
  }
  const Rect& held = bitmap.rect;
  const auto source = [&](int32_t v, int32_t low, int32_t high) {
    return std::clamp(to < from ? v >> (from - to) : v << (to - from), low, high - 1);
  };
  const Rect reach = to > from ? at_level(held, to - from)
                               : Rect{held.x << (from - to), held.y << (from - to),
                                      held.width << (from - to), held.height << (from - to)};
  const Rect part = intersect(reach, target.rect);
  if (part.empty()) return;
  std::vector<int32_t> columns(static_cast<size_t>(part.width));
  for (int32_t x = 0; x < part.width; ++x) {
    columns[x] = source(part.x + x, held.x, held.right()) - held.x;
  }
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    const uint32_t* row = bitmap.at(held.x, source(y, held.y, held.bottom()));
    std::transform(columns.begin(), columns.end(), target.at(part.x, y),
                   [&](int32_t column) { return row[column]; });
  }
}

}  // namespace

Rect at_level(const Rect& rect, int32_t level) {
  const int32_t x = rect.x >> level, y = rect.y >> level;
  return {x, y, up(rect.right(), level) - x, up(rect.bottom(), level) - y};
}

void halve(const Bitmap& fine, const Rect& part, Bitmap& coarse) {
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    uint32_t* out = coarse.at(part.x, y);
    const bool two_rows = 2 * y + 1 < fine.rect.bottom();
    for (int32_t x = part.x; x < part.right(); ++x) {
      const bool two_columns = 2 * x + 1 < fine.rect.right();
      const uint32_t* first = fine.at(2 * x, 2 * y);
      uint32_t pixels[4], count = 0;
      for (int32_t dy = 0; dy <= (two_rows ? 1 : 0); ++dy) {
        const uint32_t* row = first + std::ptrdiff_t{dy} * fine.rect.width;
        pixels[count++] = row[0];
        if (two_columns) pixels[count++] = row[1];
      }
      *out++ = mean(pixels, count);
    }
  }
}

Bitmap enlarge(const Bitmap& bitmap, int32_t from, int32_t to, const Rect& part) {
  Bitmap result(part);
  const int32_t factor = 1 << (from - to);
  const Rect& held = bitmap.rect;
  // Pixel centres: x of the finer level lies at (x + 1/2) / factor - 1/2 of the coarser one.
  const auto split = [&](int32_t v, int32_t low, int32_t high, int32_t& a, int32_t& b) {
    const int32_t position = (256 * v + 128) / factor - 128;
    a = std::clamp(position >> 8, low, high - 1);
    b = std::clamp((position >> 8) + 1, low, high - 1);
    return static_cast<uint32_t>(position & 255);
  };
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    int32_t above = 0, below = 0;
    const uint32_t down = split(y, held.y, held.bottom(), above, below);
    uint32_t* out = result.at(part.x, y);
    for (int32_t x = part.x; x < part.right(); ++x) {
      int32_t left = 0, right = 0;
      const uint32_t across = split(x, held.x, held.right(), left, right);
      const uint32_t upper = mix(*bitmap.at(left, above), *bitmap.at(right, above), across);
      const uint32_t lower = mix(*bitmap.at(left, below), *bitmap.at(right, below), across);
      *out++ = mix(upper, lower, down);
    }
  }
  return result;
}

Bitmap apply_at(const Bitmap& fine, const Bitmap& original, const Bitmap& result, int32_t from,
                int32_t to, const Rect& part) {
  const Bitmap before = enlarge(original, from, to, part);
  Bitmap after = enlarge(result, from, to, part);
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    const uint32_t* sharp = fine.at(part.x, y);
    const uint32_t* blurred = before.at(part.x, y);
    uint32_t* out = after.at(part.x, y);
    for (int32_t x = 0; x < part.width; ++x) out[x] = moved(sharp[x], blurred[x], out[x]);
  }
  return after;
}

Rect cells_of(const Rect& rect) {
  if (rect.empty()) return {};
  const int32_t x = rect.x / kCellSize, y = rect.y / kCellSize;
  return {x, y, (rect.right() + kCellSize - 1) / kCellSize - x,
          (rect.bottom() + kCellSize - 1) / kCellSize - y};
}

Rect pixels_of(const Rect& cells) {
  return {cells.x * kCellSize, cells.y * kCellSize, cells.width * kCellSize,
          cells.height * kCellSize};
}

Piece cut(Bitmap exact, uint64_t settings, int32_t level) {
  std::vector<Bitmap> levels;
  levels.push_back(std::move(exact));
  const Rect whole = levels[0].rect;
  for (int32_t i = 1; i < kLevels; ++i) {
    Bitmap next(at_level(whole, i));
    halve(levels.back(), next.rect, next);
    levels.push_back(std::move(next));
  }
  Piece piece;
  piece.settings = settings;
  const Rect cells = cells_of(whole);
  for (int32_t row = cells.y; row < cells.bottom(); ++row) {
    for (int32_t column = cells.x; column < cells.right(); ++column) {
      const Rect rect = intersect(pixels_of({column, row, 1, 1}), whole);
      Cell cell{level, {}};
      for (int32_t i = level; i < kLevels; ++i) {
        cell.bitmaps.emplace_back(at_level(rect, i));
        copy(levels[i], i, cell.bitmaps.back(), i);
      }
      piece.cells[{column, row}] = std::move(cell);
    }
  }
  return piece;
}

void Picture::add(Piece piece) {
  if (piece.settings < settings_) return;
  if (piece.settings > settings_) clear();
  settings_ = piece.settings;
  if (!piece.coarse.pixels.empty()) {
    coarse_rect_ = piece.coarse_rect;
    coarse_level_ = piece.coarse_level;
    coarse_ = std::move(piece.coarse);
  }
  for (auto& [index, cell] : piece.cells) {
    Cell& place = cells_[index];
    if (place.bitmaps.empty() || cell.level <= place.level) place = std::move(cell);
  }
}

void Picture::trim(const Rect& rect) {
  std::erase_if(cells_, [&](const auto& entry) {
    const auto& [column, row] = entry.first;
    return intersect(pixels_of({column, row, 1, 1}), rect).empty();
  });
}

bool Picture::has(const CellIndex& index, uint64_t settings, int32_t level) const {
  const auto found = cells_.find(index);
  return settings == settings_ && found != cells_.end() && found->second.level <= level;
}

Rect Picture::missing(const Rect& cells, uint64_t settings, int32_t level) const {
  int32_t left = cells.right(), top = cells.bottom(), right = cells.x, bottom = cells.y;
  for (int32_t row = cells.y; row < cells.bottom(); ++row) {
    for (int32_t column = cells.x; column < cells.right(); ++column) {
      if (has({column, row}, settings, level)) continue;
      left = std::min(left, column);
      right = std::max(right, column + 1);
      top = std::min(top, row);
      bottom = std::max(bottom, row + 1);
    }
  }
  return right > left ? Rect{left, top, right - left, bottom - top} : Rect{};
}

bool Picture::has_coarse(const Rect& rect, uint64_t settings) const {
  return settings == settings_ && !coarse_.pixels.empty() && coarse_rect_.contains(rect);
}

void Picture::paint(int32_t level, Bitmap& target) const {
  if (!coarse_.pixels.empty()) copy(coarse_, coarse_level_, target, level);
  for (const auto& [index, cell] : cells_) {
    const int32_t held = std::max(level, cell.level);
    copy(cell.bitmaps[held - cell.level], held, target, level);
  }
}

}  // namespace grainless::ui
