// SPDX-License-Identifier: MIT
// Draws the preview's views: before, after, both, and their difference.
#pragma once

#include <cairo.h>

#include <cstdint>
#include <optional>

#include "preview_model.h"
#include "preview_source.h"
#include "screen_colours.h"

namespace grainless::ui {

enum class View { kResult, kOriginal, kSplit, kSideBySide, kRemoved };

// Device pixels, and how many of them a length of 1 takes of what isn't picture.
struct PreviewSize {
  int32_t width = 0, height = 0;
  int32_t scale = 1;
};

class PreviewCanvas {
 public:
  PreviewCanvas(const PreviewModel& model, const PreviewSource& source)
      : model_(model), source_(source) {}

  static constexpr int kGap = 4;  // between two pictures side by side, device pixels
  // The width of one picture in a widget of `width`.
  static int32_t pane_width(View view, int32_t width);
  // Where the picture that x belongs to begins.
  static int32_t pane_left(View view, int32_t width, double x);

  // How many times as strong as it is the removed noise is drawn: so that it neither vanishes nor
  // reaches black and white.
  int32_t amplification() const;

  // How the picture's colours come to the monitor. Removed noise is no picture: the difference of
  // the picture's own values is drawn as it is, as the surround is.
  ScreenColours& colours() { return colours_; }
  // The picture, the original, the selection or the colours have changed.
  void invalidate() {
    composed_for_.reset();
    converted_for_.reset();
    outlined_for_.reset();
  }
  // In device pixels. split: where the line stands, 0..1 of the width.
  void draw(cairo_t* cairo, View view, const PreviewSize& size, double split);

 private:
  struct Composed {
    Viewport viewport;
    bool removed;
    bool operator==(const Composed&) const = default;
  };
  void compose(bool removed);
  const Bitmap& original_on_screen();
  void draw_original(cairo_t* cairo, const Rect& clip);
  void draw_composed(cairo_t* cairo, const Rect& clip, bool removed);
  void compose_outline();
  void draw_outline(cairo_t* cairo);
  void draw_bitmap(cairo_t* cairo, const Bitmap& bitmap, const Rect& clip) const;

  const PreviewModel& model_;
  const PreviewSource& source_;
  std::optional<Composed> composed_for_;
  Bitmap composed_;
  ScreenColours colours_;
  std::optional<Viewport> converted_for_;
  Bitmap converted_;  // the original's visible part in the monitor's colours
  std::optional<Viewport> outlined_for_;
  Bitmap outline_;  // of the selection, a pixel for each of the view's
};

}  // namespace grainless::ui
