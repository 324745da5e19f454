// SPDX-License-Identifier: MIT
#include "preview.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace grainless::ui {
namespace {

constexpr int kMinimumWidth = 480, kMinimumHeight = 360;
constexpr int kCheckSize = 8;      // squares behind transparent pixels
constexpr int kDragThreshold = 4;  // a press that moves less is no drag
constexpr int kKeyboardStep = 64;
constexpr double kOutdated = 0.35;  // opacity of parts of the original that wait for a result

int64_t now() {
  return g_get_monotonic_time() / 1000;
}

void paint_checks(cairo_t* cairo, const Rect& area) {
  cairo_rectangle(cairo, area.x, area.y, area.width, area.height);
  cairo_set_source_rgb(cairo, 0.6, 0.6, 0.6);
  cairo_fill(cairo);
  cairo_set_source_rgb(cairo, 0.4, 0.4, 0.4);
  for (int y = 0; y < area.height; y += kCheckSize) {
    for (int x = (y / kCheckSize) % 2 * kCheckSize; x < area.width; x += 2 * kCheckSize) {
      cairo_rectangle(cairo, area.x + x, area.y + y, std::min(kCheckSize, area.width - x),
                      std::min(kCheckSize, area.height - y));
    }
  }
  cairo_fill(cairo);
}

}  // namespace

Preview::Preview(PreviewSource& source, Listener listener)
    : source_(source),
      listener_(std::move(listener)),
      model_(source.width(), source.height()),
      alive_(std::make_shared<bool>(true)) {
  build();
  connect();
  worker_ = std::make_unique<PreviewWorker>(
      source_,
      [this](PreviewAnswer answer) {
        auto shared = std::make_shared<PreviewAnswer>(std::move(answer));
        post([this, shared] { accept(*shared); });
      },
      [this](std::vector<DeviceChoice> devices) {
        post([this, devices = std::move(devices)] { listener_.devices_found(devices); });
      });
  // Below GTK's redraws, so that reading a large layer never delays them.
  loader_ = g_idle_add_full(
      G_PRIORITY_LOW,
      [](gpointer self) -> gboolean { return static_cast<Preview*>(self)->load_slice(); }, this,
      nullptr);
}

Preview::~Preview() {
  worker_.reset();
  alive_.reset();
  if (timer_ != 0) g_source_remove(timer_);
  if (loader_ != 0) g_source_remove(loader_);
  g_signal_handlers_disconnect_by_data(area_, this);
  g_object_unref(overlay_);
}

// Runs body on the main thread, unless the preview is gone by then.
void Preview::post(std::function<void()> body) const {
  struct Call {
    std::weak_ptr<bool> alive;
    std::function<void()> body;
  };
  g_idle_add_full(
      G_PRIORITY_DEFAULT,
      [](gpointer data) -> gboolean {
        auto* call = static_cast<Call*>(data);
        if (call->alive.lock()) call->body();
        return G_SOURCE_REMOVE;
      },
      new Call{alive_, std::move(body)}, [](gpointer data) { delete static_cast<Call*>(data); });
}

void Preview::build() {
  overlay_ = GTK_WIDGET(g_object_ref_sink(gtk_overlay_new()));
  area_ = gtk_drawing_area_new();
  gtk_widget_set_size_request(area_, kMinimumWidth, kMinimumHeight);
  gtk_widget_set_hexpand(area_, TRUE);
  gtk_widget_set_vexpand(area_, TRUE);
  gtk_widget_set_can_focus(area_, TRUE);
  gtk_widget_add_events(area_, GDK_BUTTON_PRESS_MASK | GDK_BUTTON_RELEASE_MASK |
                                   GDK_BUTTON1_MOTION_MASK | GDK_KEY_PRESS_MASK |
                                   GDK_KEY_RELEASE_MASK);
  atk_object_set_name(gtk_widget_get_accessible(area_), _("Preview"));
  gtk_container_add(GTK_CONTAINER(overlay_), area_);

  spinner_ = gtk_spinner_new();
  gtk_widget_set_halign(spinner_, GTK_ALIGN_END);
  gtk_widget_set_valign(spinner_, GTK_ALIGN_START);
  gtk_widget_set_size_request(spinner_, 24, 24);
  g_object_set(spinner_, "margin", 8, nullptr);
  atk_object_set_name(gtk_widget_get_accessible(spinner_), _("Computing"));
  gtk_overlay_add_overlay(GTK_OVERLAY(overlay_), spinner_);

  original_mark_ = gtk_label_new(_("Original"));
  gtk_widget_set_halign(original_mark_, GTK_ALIGN_START);
  gtk_widget_set_valign(original_mark_, GTK_ALIGN_START);
  g_object_set(original_mark_, "margin", 8, "no-show-all", TRUE, nullptr);
  gtk_style_context_add_class(gtk_widget_get_style_context(original_mark_), "osd");
  gtk_overlay_add_overlay(GTK_OVERLAY(overlay_), original_mark_);
  gtk_overlay_set_overlay_pass_through(GTK_OVERLAY(overlay_), spinner_, TRUE);
  gtk_overlay_set_overlay_pass_through(GTK_OVERLAY(overlay_), original_mark_, TRUE);
}

void Preview::connect() {
  using Self = Preview*;
  const auto on = [this](const char* signal, GCallback callback) {
    g_signal_connect(area_, signal, callback, this);
  };
  on("draw", G_CALLBACK(+[](GtkWidget*, cairo_t* cairo, Self self) { return self->draw(cairo); }));
  on("size-allocate", G_CALLBACK(+[](GtkWidget*, GdkRectangle*, Self self) { self->resized(); }));
  on("notify::scale-factor",
     G_CALLBACK(+[](GObject*, GParamSpec*, Self self) { self->resized(); }));
  on("button-press-event", G_CALLBACK(+[](GtkWidget*, GdkEventButton* event, Self self) {
       return self->pressed(*event);
     }));
  on("motion-notify-event",
     G_CALLBACK(+[](GtkWidget*, GdkEventMotion* event, Self self) { return self->moved(*event); }));
  on("button-release-event",
     G_CALLBACK(+[](GtkWidget*, GdkEventButton*, Self self) { return self->released(); }));
  on("key-press-event",
     G_CALLBACK(+[](GtkWidget*, GdkEventKey* event, Self self) { return self->key(*event); }));
  on("key-release-event",
     G_CALLBACK(+[](GtkWidget*, GdkEventKey* event, Self self) { return self->key(*event); }));
}

void Preview::set_params(const Params& params) {
  model_.set_params(params, now());
  schedule();
}

// Something changed: what runs is stale if the model says so, and the next job gets its time.
void Preview::schedule() {
  if (timer_ != 0) g_source_remove(timer_);
  timer_ = 0;
  if (const std::optional<int64_t> wait = model_.wait(now())) {
    worker_->cancel();
    timer_ = g_timeout_add(
        static_cast<guint>(*wait),
        [](gpointer data) -> gboolean {
          auto* self = static_cast<Preview*>(data);
          self->timer_ = 0;
          self->pump();
          return G_SOURCE_REMOVE;
        },
        this);
  }
  state_changed();
}

void Preview::pump() {
  const PreviewJob wanted = model_.wanted();
  if (model_.wait(now()) != 0 || !source_.ready(wanted.params, wanted.rect)) return;
  if (std::optional<PreviewJob> job = model_.next_job(now())) worker_->submit(std::move(*job));
}

void Preview::accept(PreviewAnswer& answer) {
  const bool has_result = answer.status.ok();
  if (model_.finished(answer.generation, has_result)) {
    result_ = std::move(answer.result);
    error_.clear();
  } else if (!model_.busy() && answer.status.code() != ErrorCode::kCancelled && !has_result) {
    error_ = answer.status.message();
  }
  state_changed();
  gtk_widget_queue_draw(area_);
}

void Preview::state_changed() {
  g_object_set(spinner_, "active", busy(), "visible", busy(), nullptr);
  listener_.state_changed();
}

bool Preview::load_slice() {
  const bool more = source_.load_some(expand(model_.visible(), 64));
  if (!more) loader_ = 0;
  gtk_widget_queue_draw(area_);
  pump();
  state_changed();
  return more;
}

void Preview::resized() {
  const int scale = gtk_widget_get_scale_factor(area_);
  model_.resize_view(gtk_widget_get_allocated_width(area_) * scale,
                     gtk_widget_get_allocated_height(area_) * scale, now());
  if (!centred_) {
    const Rect target = source_.target();
    model_.centre_on(target.x + target.width / 2, target.y + target.height / 2, now());
    centred_ = true;
  }
  schedule();
}

// pixels hold `held` of the image, held.width a row.
void Preview::draw_pixels(cairo_t* cairo, const uint32_t* pixels, const Rect& held,
                          double opacity) const {
  const Rect visible = model_.visible(), part = intersect(visible, held);
  if (part.empty()) return;
  const uint32_t* first = pixels + ptrdiff_t{part.y - held.y} * held.width + (part.x - held.x);
  // cairo only reads; its interface for surfaces over given memory is not const.
  auto* data = reinterpret_cast<unsigned char*>(const_cast<uint32_t*>(first));
  cairo_surface_t* surface = cairo_image_surface_create_for_data(
      data, CAIRO_FORMAT_ARGB32, part.width, part.height, held.width * 4);
  const Rect place{model_.left() + part.x - visible.x, model_.top() + part.y - visible.y,
                   part.width, part.height};
  cairo_save(cairo);
  paint_checks(cairo, place);
  cairo_set_source_surface(cairo, surface, place.x, place.y);
  cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
  cairo_paint_with_alpha(cairo, opacity);
  cairo_restore(cairo);
  cairo_surface_destroy(surface);
}

gboolean Preview::draw(cairo_t* cairo) {
  const int scale = gtk_widget_get_scale_factor(area_);
  const int width = gtk_widget_get_allocated_width(area_);
  const int height = gtk_widget_get_allocated_height(area_);
  GtkStyleContext* style = gtk_widget_get_style_context(area_);
  gtk_render_background(style, cairo, 0, 0, width, height);
  cairo_save(cairo);
  cairo_scale(cairo, 1.0 / scale, 1.0 / scale);
  const bool result_shown = result_ && !original_shown_;
  const Rect visible = model_.visible();
  // The noisy original never takes a result's place: where panning uncovers parts that are still to
  // be computed, it is dimmed.
  if (!result_shown || !result_->rect.contains(visible)) {
    draw_pixels(cairo, source_.original(), {0, 0, source_.width(), source_.height()},
                result_shown ? kOutdated : 1.0);
  }
  if (result_shown) draw_pixels(cairo, result_->pixels.data(), result_->rect, 1.0);
  cairo_restore(cairo);
  if (gtk_widget_has_visible_focus(area_)) {
    gtk_render_focus(style, cairo, 1, 1, width - 2, height - 2);
  }
  return TRUE;
}

gboolean Preview::pressed(const GdkEventButton& event) {
  if (event.button != GDK_BUTTON_PRIMARY || event.type != GDK_BUTTON_PRESS) return FALSE;
  gtk_widget_grab_focus(area_);
  button_down_ = true;
  panning_ = false;
  press_x_ = event.x;
  press_y_ = event.y;
  show_original(true);
  return TRUE;
}

gboolean Preview::moved(const GdkEventMotion& event) {
  if (!button_down_) return FALSE;
  const double dx = event.x - press_x_, dy = event.y - press_y_;
  if (!panning_ && std::hypot(dx, dy) < kDragThreshold) return TRUE;
  if (!panning_) show_original(false);
  panning_ = true;
  const int scale = gtk_widget_get_scale_factor(area_);
  pan(-static_cast<int32_t>(std::lround(dx * scale)),
      -static_cast<int32_t>(std::lround(dy * scale)));
  press_x_ = event.x;
  press_y_ = event.y;
  return TRUE;
}

gboolean Preview::released() {
  button_down_ = false;
  show_original(false);
  return TRUE;
}

gboolean Preview::key(const GdkEventKey& event) {
  const bool down = event.type == GDK_KEY_PRESS;
  if (event.keyval == GDK_KEY_space) {
    show_original(down);
    return TRUE;
  }
  int32_t dx = 0, dy = 0;
  if (event.keyval == GDK_KEY_Left) dx = -kKeyboardStep;
  if (event.keyval == GDK_KEY_Right) dx = kKeyboardStep;
  if (event.keyval == GDK_KEY_Up) dy = -kKeyboardStep;
  if (event.keyval == GDK_KEY_Down) dy = kKeyboardStep;
  if (dx == 0 && dy == 0) return FALSE;
  if (down) pan(dx, dy);
  return TRUE;
}

void Preview::show_original(bool shown) {
  if (original_shown_ == shown) return;
  original_shown_ = shown;
  gtk_widget_set_visible(original_mark_, shown);
  gtk_widget_queue_draw(area_);
}

void Preview::pan(int32_t dx, int32_t dy) {
  model_.pan_by(dx, dy, now());
  gtk_widget_queue_draw(area_);
  schedule();
}

}  // namespace grainless::ui
