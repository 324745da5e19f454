// SPDX-License-Identifier: MIT
// A small diagram: noise over brightness as measured, and the level that is removed.
#pragma once

#include <gtk/gtk.h>

#include <optional>
#include <vector>

#include "preview_source.h"

namespace grainless::ui {

class NoisePlot {
 public:
  NoisePlot();
  ~NoisePlot();
  NoisePlot(const NoisePlot&) = delete;
  NoisePlot& operator=(const NoisePlot&) = delete;

  GtkWidget* widget() const { return area_; }
  void set_curves(std::vector<std::vector<NoisePoint>> curves);
  // What is removed: the same in all tones, or, with points, by brightness.
  void set_level(double sigma, const std::vector<NoisePoint>& tones = {});
  // A part of the layer that was measured.
  void set_mark(const NoisePoint& mark);

 private:
  struct Frame {
    double left, top, width, height, top_sigma;
    double x(double brightness) const { return left + brightness / 255 * width; }
    double y(double sigma) const { return top + height - sigma / top_sigma * height; }
  };
  gboolean draw(cairo_t* cairo);
  Frame frame() const;
  PangoLayout* new_text(const char* text) const;
  void draw_axes(cairo_t* cairo, const Frame& frame) const;
  void draw_curve(cairo_t* cairo, const Frame& frame, size_t channel) const;
  void draw_level(cairo_t* cairo, const Frame& frame) const;
  void draw_text(cairo_t* cairo, const char* text, double x, double y, double align) const;
  void set_source(cairo_t* cairo, double alpha) const;
  void describe();

  GtkWidget* area_;
  std::vector<std::vector<NoisePoint>> curves_;
  double level_ = 0;
  std::vector<NoisePoint> tones_;
  std::optional<NoisePoint> mark_;
};

}  // namespace grainless::ui
