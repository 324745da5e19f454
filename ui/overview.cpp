// SPDX-License-Identifier: MIT
#include "overview.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace grainless::ui {
namespace {

constexpr int kWidth = 120, kHeight = 84;
constexpr double kRefresh = 0.05;  // of the layer read, between two renderings

}  // namespace

Overview::Overview(Preview& preview)
    : preview_(preview), area_(GTK_WIDGET(g_object_ref_sink(gtk_drawing_area_new()))) {
  set_size();
  gtk_widget_set_halign(area_, GTK_ALIGN_CENTER);
  gtk_widget_set_valign(area_, GTK_ALIGN_CENTER);
  gtk_widget_add_events(area_, GDK_BUTTON_PRESS_MASK | GDK_BUTTON1_MOTION_MASK);
  gtk_widget_set_tooltip_text(area_, _("The whole layer: click to go there."));
  atk_object_set_name(gtk_widget_get_accessible(area_), _("Overview"));
  using Self = Overview*;
  g_signal_connect(
      area_, "draw",
      G_CALLBACK(+[](GtkWidget*, cairo_t* cairo, Self self) { return self->draw(cairo); }), this);
  g_signal_connect(area_, "button-press-event",
                   G_CALLBACK(+[](GtkWidget*, GdkEventButton* event, Self self) -> gboolean {
                     if (event->button == GDK_BUTTON_PRIMARY) self->go_to(event->x, event->y);
                     return TRUE;
                   }),
                   this);
  g_signal_connect(area_, "motion-notify-event",
                   G_CALLBACK(+[](GtkWidget*, GdkEventMotion* event, Self self) -> gboolean {
                     self->go_to(event->x, event->y);
                     return TRUE;
                   }),
                   this);
}

Overview::~Overview() {
  g_signal_handlers_disconnect_by_data(area_, this);
  if (thumbnail_ != nullptr) cairo_surface_destroy(thumbnail_);
  g_object_unref(area_);
}

void Overview::set_size() {
  const int32_t width = preview_.source().width(), height = preview_.source().height();
  scale_ = std::min(double(kWidth) / width, double(kHeight) / height);
  const auto side = [&](int32_t length) {
    return std::max(2, static_cast<int>(std::lround(length * scale_)));
  };
  gtk_widget_set_size_request(area_, side(width), side(height));
}

void Overview::go_to(double x, double y) {
  Viewport viewport = preview_.viewport();
  viewport.centre_on(x / scale_, y / scale_);
  preview_.look(viewport);
}

void Overview::update() {
  const double loaded = preview_.loaded();
  if (layer_ != preview_.model().layer()) rendered_ = -1;
  layer_ = preview_.model().layer();
  if (std::exchange(colours_, preview_.colours().version()) != colours_) rendered_ = -1;
  if (version_ != preview_.source().version()) {
    version_ = preview_.source().version();
    rendered_ = -1;
    set_size();
  }
  if (loaded >= rendered_ + kRefresh || (loaded >= 1 && rendered_ < 1)) {
    rendered_ = loaded;
    if (thumbnail_ != nullptr) cairo_surface_destroy(thumbnail_);
    thumbnail_ = nullptr;
  }
  gtk_widget_queue_draw(area_);
}

void Overview::render() {
  const int device = gtk_widget_get_scale_factor(area_);
  const double scale = scale_ * device;
  int32_t level = 0;
  while (level + 1 < kLevels && scale * (2 << level) <= 1) ++level;
  const PreviewSource& source = preview_.source();
  const Rect whole = at_level({0, 0, source.width(), source.height()}, level);
  Bitmap bitmap = source.original(level, whole);
  uint32_t* pixels = bitmap.pixels.data();
  if (!preview_.colours().none()) {
    preview_.colours().convert(pixels, pixels, bitmap.pixels.size());
  }
  thumbnail_ = cairo_image_surface_create(CAIRO_FORMAT_ARGB32,
                                          gtk_widget_get_allocated_width(area_) * device,
                                          gtk_widget_get_allocated_height(area_) * device);
  cairo_t* cairo = cairo_create(thumbnail_);
  cairo_scale(cairo, scale * (1 << level), scale * (1 << level));
  auto* data = reinterpret_cast<unsigned char*>(pixels);
  cairo_surface_t* surface = cairo_image_surface_create_for_data(
      data, CAIRO_FORMAT_ARGB32, bitmap.rect.width, bitmap.rect.height, bitmap.rect.width * 4);
  cairo_set_source_surface(cairo, surface, 0, 0);
  cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD);
  cairo_paint(cairo);
  cairo_destroy(cairo);
  cairo_surface_destroy(surface);
  cairo_surface_set_device_scale(thumbnail_, device, device);
}

gboolean Overview::draw(cairo_t* cairo) {
  // Nothing may be thrown through GTK, and the next time there may be memory for it.
  if (thumbnail_ == nullptr && !guard([this] { render(); }).ok()) return TRUE;
  cairo_set_source_surface(cairo, thumbnail_, 0, 0);
  cairo_paint(cairo);
  const Rect visible = preview_.viewport().visible();
  const double x = std::round(visible.x * scale_), y = std::round(visible.y * scale_);
  const double right = std::round(visible.right() * scale_);
  const double bottom = std::round(visible.bottom() * scale_);
  cairo_rectangle(cairo, x + 0.5, y + 0.5, std::max(1.0, right - x - 1),
                  std::max(1.0, bottom - y - 1));
  cairo_set_source_rgba(cairo, 0, 0, 0, 0.7);
  cairo_set_line_width(cairo, 3);
  cairo_stroke_preserve(cairo);
  cairo_set_source_rgb(cairo, 1, 1, 1);
  cairo_set_line_width(cairo, 1);
  cairo_stroke(cairo);
  return TRUE;
}

}  // namespace grainless::ui
