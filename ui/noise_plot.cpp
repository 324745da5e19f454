// SPDX-License-Identifier: MIT
#include "noise_plot.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "text.h"

namespace grainless::ui {
namespace {

constexpr int kHeight = 96;
constexpr double kLeft = 26, kRight = 4, kTop = 6, kBottom = 16;  // at least, room for the texts
constexpr double kBeside = 4;                                     // between numbers and frame
constexpr double kHeadroom = 1.15;
constexpr double kLeastTop = 4;  // sigma at the upper end, so that a clean layer looks clean
constexpr double kFaint = 0.35;  // the colour channels

}  // namespace

NoisePlot::NoisePlot() : area_(GTK_WIDGET(g_object_ref_sink(gtk_drawing_area_new()))) {
  gtk_widget_set_size_request(area_, -1, kHeight);
  gtk_widget_set_tooltip_text(
      area_, _("How strong the noise is in dark and in bright parts of the layer (its standard "
               "deviation, sigma, over brightness). Strong line: lightness; faint lines: colour; "
               "dashed: the level that is removed; cross: the part that was measured."));
  atk_object_set_name(gtk_widget_get_accessible(area_), _("Noise over brightness"));
  g_signal_connect(area_, "draw", G_CALLBACK(+[](GtkWidget*, cairo_t* cairo, NoisePlot* self) {
                     return self->draw(cairo);
                   }),
                   this);
}

NoisePlot::~NoisePlot() {
  g_signal_handlers_disconnect_by_data(area_, this);
  g_object_unref(area_);
}

void NoisePlot::set_curves(std::vector<std::vector<NoisePoint>> curves) {
  curves_ = std::move(curves);
  describe();
}

void NoisePlot::set_level(double sigma, const std::vector<NoisePoint>& tones) {
  if (level_ == sigma && tones_ == tones) return;
  level_ = sigma;
  tones_ = tones;
  describe();
}

void NoisePlot::set_mark(const NoisePoint& mark) {
  mark_ = mark;
  describe();
}

// In words, for those who can't see it.
void NoisePlot::describe() {
  std::string text = format(_("Removed: %.1f"), level_);
  if (!tones_.empty()) {
    for (const NoisePoint& tone : {tones_.front(), tones_[tones_.size() / 2], tones_.back()}) {
      text += "; " + format(_("removed at brightness %.0f: %.1f"), tone.brightness, tone.sigma);
    }
  }
  if (!curves_.empty()) {
    for (const NoisePoint& point : curves_[0]) {
      text += "; " + format(_("at brightness %.0f: %.1f"), point.brightness, point.sigma);
    }
  }
  if (mark_) {
    text += "; " + format(_("measured at brightness %.0f: %.1f"), mark_->brightness, mark_->sigma);
  }
  atk_object_set_description(gtk_widget_get_accessible(area_), text.c_str());
  gtk_widget_queue_draw(area_);
}

void NoisePlot::set_source(cairo_t* cairo, double alpha) const {
  GtkStyleContext* style = gtk_widget_get_style_context(area_);
  GdkRGBA colour;
  gtk_style_context_get_color(style, gtk_style_context_get_state(style), &colour);
  cairo_set_source_rgba(cairo, colour.red, colour.green, colour.blue, colour.alpha * alpha);
}

NoisePlot::Frame NoisePlot::frame() const {
  double top = std::max(kLeastTop, level_ * kHeadroom);
  for (const auto& curve : curves_) {
    for (const NoisePoint& point : curve) top = std::max(top, point.sigma * kHeadroom);
  }
  for (const NoisePoint& tone : tones_) top = std::max(top, tone.sigma * kHeadroom);
  if (mark_) top = std::max(top, mark_->sigma * kHeadroom);
  int width = 0, height = 0;
  PangoLayout* layout = new_text(format("%.0f", std::floor(top)).c_str());
  pango_layout_get_pixel_size(layout, &width, &height);
  g_object_unref(layout);
  const double left = std::max(kLeft, width + kBeside), bottom = std::max<double>(kBottom, height);
  return {left, kTop, gtk_widget_get_allocated_width(area_) - left - kRight,
          gtk_widget_get_allocated_height(area_) - kTop - bottom, top};
}

PangoLayout* NoisePlot::new_text(const char* text) const {
  PangoLayout* layout = gtk_widget_create_pango_layout(area_, text);
  PangoAttrList* attributes = pango_attr_list_new();
  pango_attr_list_insert(attributes, pango_attr_scale_new(PANGO_SCALE_SMALL));
  pango_layout_set_attributes(layout, attributes);
  pango_attr_list_unref(attributes);
  return layout;
}

void NoisePlot::draw_text(cairo_t* cairo, const char* text, double x, double y,
                          double align) const {
  PangoLayout* layout = new_text(text);
  int width = 0, height = 0;
  pango_layout_get_pixel_size(layout, &width, &height);
  cairo_move_to(cairo, x - align * width, y - height / 2.0);
  pango_cairo_show_layout(cairo, layout);
  g_object_unref(layout);
}

void NoisePlot::draw_axes(cairo_t* cairo, const Frame& frame) const {
  set_source(cairo, 0.3);
  cairo_set_line_width(cairo, 1);
  cairo_rectangle(cairo, frame.left + 0.5, frame.top + 0.5, frame.width - 1, frame.height - 1);
  cairo_stroke(cairo);
  set_source(cairo, 0.7);
  const double below = (frame.top + frame.height + gtk_widget_get_allocated_height(area_)) / 2;
  draw_text(cairo, _("dark"), frame.left, below, 0);
  draw_text(cairo, _("bright"), frame.left + frame.width, below, 1);
  draw_text(cairo, "0", frame.left - kBeside, frame.y(0) - 5, 1);
  draw_text(cairo, format("%.0f", std::floor(frame.top_sigma)).c_str(), frame.left - kBeside,
            frame.y(std::floor(frame.top_sigma)) + 3, 1);
}

void NoisePlot::draw_curve(cairo_t* cairo, const Frame& frame, size_t channel) const {
  set_source(cairo, channel == 0 ? 1 : kFaint);
  cairo_set_line_width(cairo, channel == 0 ? 1.5 : 1);
  cairo_new_path(cairo);
  for (const NoisePoint& point : curves_[channel]) {
    cairo_line_to(cairo, frame.x(point.brightness), frame.y(point.sigma));
  }
  cairo_stroke(cairo);
  if (channel != 0) return;
  for (const NoisePoint& point : curves_[channel]) {
    cairo_arc(cairo, frame.x(point.brightness), frame.y(point.sigma), 2, 0, 2 * M_PI);
    cairo_fill(cairo);
  }
}

void NoisePlot::draw_level(cairo_t* cairo, const Frame& frame) const {
  const double dashes[] = {5, 3};
  const double y = std::round(frame.y(level_)) + 0.5;
  set_source(cairo, 0.8);
  cairo_set_line_width(cairo, 1);
  cairo_set_dash(cairo, dashes, 2, 0);
  if (tones_.empty()) {
    cairo_move_to(cairo, frame.left, y);
    cairo_line_to(cairo, frame.left + frame.width, y);
  }
  for (const NoisePoint& tone : tones_) {
    cairo_line_to(cairo, frame.x(tone.brightness), frame.y(tone.sigma));
  }
  cairo_stroke(cairo);
  cairo_set_dash(cairo, nullptr, 0, 0);
  if (!mark_) return;
  const double x = frame.x(mark_->brightness), mark = frame.y(mark_->sigma);
  set_source(cairo, 1);
  cairo_set_line_width(cairo, 2);
  for (const double way : {-1.0, 1.0}) {
    cairo_move_to(cairo, x - 4, mark - 4 * way);
    cairo_line_to(cairo, x + 4, mark + 4 * way);
  }
  cairo_stroke(cairo);
}

gboolean NoisePlot::draw(cairo_t* cairo) {
  const Frame frame = this->frame();
  draw_axes(cairo, frame);
  for (size_t channel = curves_.size(); channel-- > 0;) draw_curve(cairo, frame, channel);
  draw_level(cairo, frame);
  return TRUE;
}

}  // namespace grainless::ui
