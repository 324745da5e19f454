// SPDX-License-Identifier: MIT
#include "preview_canvas.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace grainless::ui {
namespace {

constexpr int kCheckSize = 8;     // squares behind transparent pixels
constexpr uint32_t kDimmed = 90;  // of 256: parts of the original that wait for a result
// Of the removed noise, as long as its level is not known; and how strong it may be drawn, and how
// many times as strong.
constexpr int32_t kAmplification = 4, kMostAmplified = 16;
constexpr double kStrongest = 42;  // standard deviation, of 127 on either side of grey
constexpr int32_t kMidGrey = 128;
constexpr int32_t kDash = 4;  // pixels of the selection's outline in black, and as many in white

cairo_surface_t* surface_of(const Bitmap& bitmap) {
  // cairo only reads; its interface for surfaces over given memory is not const.
  auto* data = reinterpret_cast<unsigned char*>(const_cast<uint32_t*>(bitmap.pixels.data()));
  return cairo_image_surface_create_for_data(data, CAIRO_FORMAT_ARGB32, bitmap.rect.width,
                                             bitmap.rect.height, bitmap.rect.width * 4);
}

void paint_checks(cairo_t* cairo) {
  Bitmap tile({0, 0, 2 * kCheckSize, 2 * kCheckSize});
  for (int32_t y = 0; y < tile.rect.height; ++y) {
    for (int32_t x = 0; x < tile.rect.width; ++x) {
      *tile.at(x, y) = (x < kCheckSize) == (y < kCheckSize) ? 0xff999999u : 0xff666666u;
    }
  }
  cairo_surface_t* surface = surface_of(tile);
  cairo_set_source_surface(cairo, surface, 0, 0);
  cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_REPEAT);
  cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
  cairo_paint(cairo);
  // The tile ends here.
  cairo_set_source_rgb(cairo, 0, 0, 0);
  cairo_surface_finish(surface);
  cairo_surface_destroy(surface);
}

uint32_t dimmed(uint32_t pixel) {
  const uint32_t even = ((pixel & 0x00ff00ffu) * kDimmed) >> 8 & 0x00ff00ffu;
  const uint32_t odd = (pixel & 0x0000ff00u) * kDimmed >> 8 & 0x0000ff00u;
  return (pixel & 0xff000000u) | (even & 0x000000ffu) | (even & 0x00ff0000u) | odd;
}

// What was taken away, around mid-grey.
uint32_t difference(uint32_t before, uint32_t after, int32_t times) {
  uint32_t pixel = 0xff000000u;
  for (int shift = 0; shift < 24; shift += 8) {
    const auto value = [&](uint32_t p) { return static_cast<int32_t>(p >> shift & 255); };
    const int32_t amplified = kMidGrey + times * (value(before) - value(after));
    pixel |= static_cast<uint32_t>(std::clamp(amplified, 0, 255)) << shift;
  }
  return pixel;
}

// x and height in device pixels, `scale` of them to what is drawn as one.
void draw_line(cairo_t* cairo, double x, double height, double scale) {
  cairo_save(cairo);
  cairo_scale(cairo, scale, scale);
  x /= scale;
  height /= scale;
  const double middle = height / 2.0;
  for (const auto& [width, grey] : {std::pair{3.0, 0.0}, std::pair{1.0, 1.0}}) {
    cairo_set_source_rgba(cairo, grey, grey, grey, grey > 0 ? 1 : 0.5);
    cairo_set_line_width(cairo, width);
    cairo_move_to(cairo, x, 0);
    cairo_line_to(cairo, x, height);
    cairo_stroke(cairo);
    cairo_arc(cairo, x, middle, 7 + width, 0, 2 * M_PI);
    cairo_fill(cairo);
  }
  cairo_set_source_rgb(cairo, 0.2, 0.2, 0.2);
  for (const double side : {-1.0, 1.0}) {
    cairo_move_to(cairo, x + side * 6, middle);
    cairo_line_to(cairo, x + side * 2, middle - 4);
    cairo_line_to(cairo, x + side * 2, middle + 4);
    cairo_fill(cairo);
  }
  cairo_restore(cairo);
}

}  // namespace

int32_t PreviewCanvas::pane_width(View view, int32_t width) {
  return view == View::kSideBySide ? std::max(1, (width - kGap) / 2) : width;
}

int32_t PreviewCanvas::pane_left(View view, int32_t width, double x) {
  const int32_t pane = pane_width(view, width);
  return view == View::kSideBySide && x >= pane + kGap / 2.0 ? pane + kGap : 0;
}

int32_t PreviewCanvas::amplification() const {
  const PreviewInfo* info = model_.info();
  if (info == nullptr || info->sigma.empty()) return kAmplification;
  // White noise halves from level to level; other noise shows more then.
  const double sigma = *std::max_element(info->sigma.begin(), info->sigma.end()) /
                       static_cast<double>(1 << model_.view().level());
  int32_t times = kMostAmplified;
  while (times > 1 && times * sigma > kStrongest) times /= 2;
  return times;
}

void PreviewCanvas::compose(bool removed) {
  const Composed wanted{model_.view(), removed};
  if (composed_for_ == wanted) return;
  composed_for_ = wanted;
  const int32_t level = model_.view().level();
  const Rect part = at_level(model_.view().visible(), level);
  const Bitmap& original = source_.original(level, part);
  if (composed_.rect != part) composed_ = Bitmap(part);
  // The noisy original never takes a result's place: where panning uncovers parts that are still to
  // be computed, it is dimmed.
  const bool dim = !removed && model_.info() != nullptr;
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    const uint32_t* from = original.at(part.x, y);
    uint32_t* to = composed_.at(part.x, y);
    if (dim) {
      std::transform(from, from + part.width, to, dimmed);
    } else {
      std::memcpy(to, from, static_cast<size_t>(part.width) * 4);
    }
  }
  model_.picture().paint(level, composed_);
  if (!removed) {
    if (!colours_.none()) {
      uint32_t* pixels = composed_.pixels.data();
      colours_.convert(pixels, pixels, composed_.pixels.size());
    }
    return;
  }
  const int32_t times = amplification();
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    uint32_t* row = composed_.at(part.x, y);
    std::transform(original.at(part.x, y), original.at(part.x, y) + part.width, row, row,
                   [times](uint32_t from, uint32_t to) { return difference(from, to, times); });
  }
}

// The bitmap holds the visible part of its level, or the whole of it.
void PreviewCanvas::draw_bitmap(cairo_t* cairo, const Bitmap& bitmap, const Rect& clip) const {
  if (bitmap.rect.empty() || clip.empty()) return;
  const Viewport& view = model_.view();
  const double scale = view.zoom() * (1 << view.level());
  cairo_save(cairo);
  cairo_rectangle(cairo, clip.x, clip.y, clip.width, clip.height);
  cairo_clip(cairo);
  const double width = std::round(source_.width() * view.zoom());
  const double height = std::round(source_.height() * view.zoom());
  cairo_rectangle(cairo, view.left(), view.top(), std::max(1.0, width), std::max(1.0, height));
  cairo_clip(cairo);
  paint_checks(cairo);
  cairo_translate(cairo, view.left(), view.top());
  cairo_scale(cairo, scale, scale);
  cairo_surface_t* surface = surface_of(bitmap);
  cairo_set_source_surface(cairo, surface, bitmap.rect.x, bitmap.rect.y);
  cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD);
  cairo_pattern_set_filter(cairo_get_source(cairo),
                           scale < 1 ? CAIRO_FILTER_BILINEAR : CAIRO_FILTER_NEAREST);
  cairo_paint(cairo);
  cairo_surface_destroy(surface);
  cairo_restore(cairo);
}

// Where a pixel of the view and its neighbour show one inside of the selection and one outside.
void PreviewCanvas::compose_outline() {
  const Viewport& view = model_.view();
  if (outlined_for_ == view) return;
  outlined_for_ = view;
  const Selection& selection = source_.selection();
  outline_ = Bitmap({0, 0, view.width(), view.height()});
  std::vector<int32_t> columns(static_cast<size_t>(view.width()));
  for (int32_t x = 0; x < view.width(); ++x) {
    columns[x] = static_cast<int32_t>(std::floor(view.image_x(x + 0.5))) - selection.rect.x;
  }
  std::vector<uint8_t> above(columns.size()), row(columns.size());
  for (int32_t y = 0; y < view.height(); ++y) {
    const auto line = static_cast<int32_t>(std::floor(view.image_y(y + 0.5))) - selection.rect.y;
    const bool within = line >= 0 && line < selection.rect.height;
    const uint8_t* inside =
        within ? selection.inside.data() + std::ptrdiff_t{line} * selection.rect.width : nullptr;
    std::transform(columns.begin(), columns.end(), row.begin(), [&](int32_t column) -> uint8_t {
      return within && column >= 0 && column < selection.rect.width ? inside[column] : 0;
    });
    uint32_t* out = outline_.at(0, y);
    for (int32_t x = 0; x < view.width(); ++x) {
      const bool edge = row[x] != (y > 0 ? above[x] : row[x]) || (x > 0 && row[x] != row[x - 1]);
      if (edge) out[x] = (x + y) / kDash % 2 != 0 ? 0xffffffffu : 0xff000000u;
    }
    std::swap(above, row);
  }
}

void PreviewCanvas::draw_outline(cairo_t* cairo) {
  if (source_.selection().inside.empty()) return;
  compose_outline();
  cairo_surface_t* surface = surface_of(outline_);
  cairo_set_source_surface(cairo, surface, 0, 0);
  cairo_paint(cairo);
  cairo_surface_destroy(surface);
}

const Bitmap& PreviewCanvas::original_on_screen() {
  const Viewport& view = model_.view();
  const Rect part = at_level(view.visible(), view.level());
  const Bitmap& original = source_.original(view.level(), part);
  if (colours_.none()) return original;
  if (converted_for_ == view) return converted_;
  converted_for_ = view;
  if (converted_.rect != part) converted_ = Bitmap(part);
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    colours_.convert(original.at(part.x, y), converted_.at(part.x, y),
                     static_cast<size_t>(part.width));
  }
  return converted_;
}

void PreviewCanvas::draw_original(cairo_t* cairo, const Rect& clip) {
  draw_bitmap(cairo, original_on_screen(), clip);
}

void PreviewCanvas::draw_composed(cairo_t* cairo, const Rect& clip, bool removed) {
  compose(removed);
  draw_bitmap(cairo, composed_, clip);
}

void PreviewCanvas::draw(cairo_t* cairo, View view, const PreviewSize& size, double split) {
  const int32_t width = size.width, height = size.height;
  const Rect all{0, 0, width, height};
  switch (view) {
    case View::kResult:
    case View::kRemoved:
      draw_composed(cairo, all, view == View::kRemoved);
      draw_outline(cairo);
      return;
    case View::kOriginal:
      draw_original(cairo, all);
      draw_outline(cairo);
      return;
    case View::kSplit: {
      const auto line = static_cast<int32_t>(std::lround(split * width));
      draw_original(cairo, {0, 0, line, height});
      draw_composed(cairo, {line, 0, width - line, height}, false);
      draw_outline(cairo);
      draw_line(cairo, line, height, size.scale);
      return;
    }
    case View::kSideBySide: {
      const int32_t pane = pane_width(view, width);
      draw_original(cairo, {0, 0, pane, height});
      draw_outline(cairo);
      cairo_save(cairo);
      cairo_translate(cairo, pane + kGap, 0);
      draw_composed(cairo, {0, 0, pane, height}, false);
      draw_outline(cairo);
      cairo_restore(cairo);
      return;
    }
  }
}

}  // namespace grainless::ui
