// SPDX-License-Identifier: MIT
#include "result.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "message.h"

namespace grainless::helper {
namespace {

int32_t cells_in(int32_t length) {
  return (length - 1) / Result::kCell + 1;
}

Rect around(const Rect& a, const Rect& b) {
  if (a.empty()) return b;
  const int32_t x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.right(), b.right()) - x, std::max(a.bottom(), b.bottom()) - y};
}

}  // namespace

Result::Result(PixelFormat format, int32_t width, int32_t height, std::string params)
    : format_(format),
      width_(width),
      height_(height),
      params_(std::move(params)),
      columns_(cells_in(width)),
      ready_(static_cast<size_t>(columns_) * cells_in(height)),
      left_(ready_.size()),
      pixels_(std::make_unique_for_overwrite<uint8_t[]>(pixel_bytes(format, width, height))) {}

template <typename Body>
void Result::for_each_cell(const Rect& rect, const Body& body) const {
  for (int32_t row = rect.y / kCell; row <= (rect.bottom() - 1) / kCell; ++row) {
    for (int32_t column = rect.x / kCell; column <= (rect.right() - 1) / kCell; ++column) {
      const Rect cell{column * kCell, row * kCell, kCell, kCell};
      body(static_cast<size_t>(row) * columns_ + column, intersect(cell, {0, 0, width_, height_}));
    }
  }
}

Rect Result::missing(const Rect& rect) const {
  Rect all;
  for_each_cell(rect, [&](size_t index, const Rect& cell) {
    if (ready_[index] == 0) all = around(all, cell);
  });
  return all;
}

MutableImage Result::target(const Rect& rect) {
  const ptrdiff_t row = ptrdiff_t{width_} * format_.pixel_bytes();
  uint8_t* first = pixels_.get() + rect.y * row + ptrdiff_t{rect.x} * format_.pixel_bytes();
  return {format_, width_, height_, rect, first, row};
}

void Result::computed(const Rect& cells, const Report& report) {
  for_each_cell(cells, [&](size_t index, const Rect&) {
    left_ -= ready_[index] == 0 ? 1 : 0;
    ready_[index] = 1;
  });
  seconds_a_pixel_ = report.total / static_cast<double>(cells.area());
  add_part(report, report_);
  report_.note = report.note;
  report_.changed = report.changed;
}

void Result::copy(const Rect& rect, uint8_t* pixels) const {
  const ptrdiff_t row = ptrdiff_t{width_} * format_.pixel_bytes();
  const ptrdiff_t bytes = ptrdiff_t{rect.width} * format_.pixel_bytes();
  for (int32_t y = 0; y < rect.height; ++y) {
    std::memcpy(pixels + y * bytes,
                pixels_.get() + (rect.y + y) * row + ptrdiff_t{rect.x} * format_.pixel_bytes(),
                static_cast<size_t>(bytes));
  }
}

}  // namespace grainless::helper
