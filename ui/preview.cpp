// SPDX-License-Identifier: MIT
#include "preview.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "text.h"

namespace grainless::ui {
namespace {

constexpr double kSurround = 0.467;  // mid-grey: half as bright as white to the eye
constexpr int kFocusWidth = 2;
constexpr uint64_t kLooksAtColours = 5;  // one of so many looks asks the host for them
constexpr int kMinimumWidth = 320, kMinimumHeight = 240;
// Slices take 4 ms, a fine screen's pixels take longer to draw.
// Milliseconds: between two words of how far the reading is, and between two slices of it.
constexpr int64_t kTold = 50, kLongestWait = 20;

int64_t now() {
  return g_get_monotonic_time() / 1000;
}

GtkWidget* new_mark(GtkAlign side) {
  GtkWidget* mark = gtk_label_new(nullptr);
  gtk_widget_set_halign(mark, side);
  gtk_widget_set_valign(mark, GTK_ALIGN_START);
  g_object_set(mark, "margin", 8, "no-show-all", TRUE, nullptr);
  // The themes' own class for this, "osd", is dark on dark in GIMP's light ones.
  GtkCssProvider* style = gtk_css_provider_new();
  gtk_css_provider_load_from_data(style,
                                  "label { color: white; background-color: rgba(0,0,0,0.65);"
                                  " padding: 2px 6px; border-radius: 3px; }",
                                  -1, nullptr);
  gtk_style_context_add_provider(gtk_widget_get_style_context(mark), GTK_STYLE_PROVIDER(style),
                                 GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
  g_object_unref(style);
  return mark;
}

// Along the widget's border, where themes would not draw it, in the colour of words, which every
// theme keeps apart from what is behind them.
void render_focus(GtkWidget* widget, cairo_t* cairo) {
  GtkStyleContext* style = gtk_widget_get_style_context(widget);
  GdkRGBA colour;
  gtk_style_context_get_color(style, gtk_style_context_get_state(style), &colour);
  gdk_cairo_set_source_rgba(cairo, &colour);
  cairo_set_line_width(cairo, kFocusWidth);
  cairo_rectangle(cairo, kFocusWidth / 2.0, kFocusWidth / 2.0,
                  gtk_widget_get_allocated_width(widget) - kFocusWidth,
                  gtk_widget_get_allocated_height(widget) - kFocusWidth);
  cairo_stroke(cairo);
}

}  // namespace

Preview::Preview(PreviewSource& source, Listener listener)
    : source_(source),
      listener_(std::move(listener)),
      model_(source.width(), source.height()),
      canvas_(model_, source),
      version_(source.version()),
      alive_(std::make_shared<bool>(true)) {
  build();
  connect();
  worker_ = std::make_unique<PreviewWorker>(
      source_,
      [this](PreviewAnswer answer) {
        auto shared = std::make_shared<PreviewAnswer>(std::move(answer));
        post([this, shared] { accept(std::move(*shared)); });
      },
      [this](std::vector<DeviceChoice> devices) {
        post([this, devices = std::move(devices)] { listener_.devices_found(devices); });
      });
  start_loading();
}

// What GLib and GTK call: nothing may be thrown through them, as where memory is short.

// Below GTK's redraws, so that reading a large layer doesn't delay them; but where drawing takes
// all of the time (a busy computer, a window of many pixels that the processor draws), a slice
// every now and then is read all the same.
void Preview::start_loading() {
  if (loader_ != 0) return;
  loader_ = g_idle_add_full(
      G_PRIORITY_LOW,
      [](gpointer data) -> gboolean {
        static_cast<Preview*>(data)->go_on_loading();
        return G_SOURCE_CONTINUE;
      },
      this, nullptr);
  read_ = now();
  urger_ = g_timeout_add(
      kLongestWait,
      [](gpointer data) -> gboolean {
        auto* self = static_cast<Preview*>(data);
        if (now() >= self->read_ + kLongestWait) self->go_on_loading();
        return G_SOURCE_CONTINUE;
      },
      this);
}

void Preview::stop_loading() {
  if (loader_ != 0) g_source_remove(loader_);
  if (urger_ != 0) g_source_remove(urger_);
  loader_ = urger_ = 0;
}

void Preview::go_on_loading() {
  read_ = now();
  if (!guard([&] { load_slice(); }).ok()) stop_loading();
}

Preview::~Preview() {
  worker_.reset();
  alive_.reset();
  if (timer_ != 0) g_source_remove(timer_);
  stop_loading();
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
        if (call->alive.lock()) (void)guard(call->body);
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
                                   GDK_POINTER_MOTION_MASK | GDK_SCROLL_MASK |
                                   GDK_SMOOTH_SCROLL_MASK | GDK_KEY_PRESS_MASK |
                                   GDK_KEY_RELEASE_MASK | GDK_LEAVE_NOTIFY_MASK);
  AtkObject* accessible = gtk_widget_get_accessible(area_);
  atk_object_set_name(accessible, _("Preview"));
  atk_object_set_description(
      accessible, _("Arrow keys move, + and - zoom, 1 shows 100 %, 0 the whole layer, Space the "
                    "original; Shift and the arrow keys move the split line."));
  gtk_container_add(GTK_CONTAINER(overlay_), area_);
  build_marks();
}

void Preview::build_marks() {
  spinner_ = gtk_spinner_new();
  gtk_widget_set_halign(spinner_, GTK_ALIGN_END);
  gtk_widget_set_valign(spinner_, GTK_ALIGN_END);
  gtk_widget_set_size_request(spinner_, 24, 24);
  g_object_set(spinner_, "margin", 8, nullptr);
  atk_object_set_name(gtk_widget_get_accessible(spinner_), _("Computing"));
  before_mark_ = new_mark(GTK_ALIGN_START);
  after_mark_ = new_mark(GTK_ALIGN_END);
  for (GtkWidget* mark : {spinner_, before_mark_, after_mark_}) {
    gtk_overlay_add_overlay(GTK_OVERLAY(overlay_), mark);
    gtk_overlay_set_overlay_pass_through(GTK_OVERLAY(overlay_), mark, TRUE);
  }
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
  on("map",
     G_CALLBACK(+[](GtkWidget*, Self self) { (void)guard([&] { self->follow_colours(); }); }));
  on("button-press-event", G_CALLBACK(+[](GtkWidget*, GdkEventButton* event, Self self) {
       return self->pressed(*event);
     }));
  on("motion-notify-event",
     G_CALLBACK(+[](GtkWidget*, GdkEventMotion* event, Self self) { return self->moved(*event); }));
  on("button-release-event",
     G_CALLBACK(+[](GtkWidget*, GdkEventButton*, Self self) { return self->released(); }));
  on("leave-notify-event", G_CALLBACK(+[](GtkWidget*, GdkEvent*, Self self) -> gboolean {
       self->model_.set_focus({});
       return FALSE;
     }));
  on("scroll-event", G_CALLBACK(+[](GtkWidget*, GdkEventScroll* event, Self self) {
       return self->scrolled(*event);
     }));
  on("key-press-event",
     G_CALLBACK(+[](GtkWidget*, GdkEventKey* event, Self self) { return self->key(*event); }));
  on("key-release-event",
     G_CALLBACK(+[](GtkWidget*, GdkEventKey* event, Self self) { return self->key(*event); }));
  on("focus-out-event", G_CALLBACK(+[](GtkWidget*, GdkEvent*, Self self) -> gboolean {
       self->keyboard_left();
       return FALSE;
     }));
}

void Preview::set_params(const Params& params) {
  changed_ = g_get_monotonic_time();
  model_.set_params(params, now());
  schedule();
}

void Preview::layer_changed(int32_t layer) {
  model_.set_layer(layer, now());
  follow_image();
  follow_colours();
  canvas_.invalidate();
  gtk_widget_queue_draw(area_);
  if (!paused_) start_loading();
  schedule();
  listener_.view_changed();
}

// Whether there is another image than before.
bool Preview::follow_image() {
  if (version_ == source_.version()) return false;
  version_ = source_.version();
  model_.set_image(source_.width(), source_.height(), now());
  return true;
}

// The monitor may be another one, or its profile, or what the user wants to be done with it.
void Preview::follow_colours() {
  if (!canvas_.colours().update(area_, source_.colours())) return;
  canvas_.invalidate();
  gtk_widget_queue_draw(area_);
  listener_.view_changed();
}

Situation Preview::look_at_layer(bool thorough) {
  Situation situation = source_.look(thorough);
  if (!situation.end.empty()) return situation;
  if (thorough || situation.pixels || looks_++ % kLooksAtColours == 0) follow_colours();
  if (!follow_image() && situation.selection) model_.invalidate(now());
  if (situation.pixels || situation.selection) {
    canvas_.invalidate();
    gtk_widget_queue_draw(area_);
    schedule();
    listener_.view_changed();
  }
  if (situation.unread && !paused_) start_loading();
  return situation;
}

void Preview::set_paused(bool paused) {
  paused_ = paused;
  if (paused) {
    worker_->cancel();
    stop_loading();
  } else {
    start_loading();
  }
  schedule();
}

void Preview::compute_aside(std::function<std::function<void()>()> task) {
  worker_->run_aside([this, task = std::move(task)] { post(task()); });
}

// Something changed: what runs may be stale, and the next job gets its time.
void Preview::schedule() {
  if (timer_ != 0) g_source_remove(timer_);
  timer_ = 0;
  if (model_.outdated()) worker_->cancel();
  const std::optional<int64_t> wait = model_.wait(now());
  if (wait && !paused_) {
    timer_ = g_timeout_add(
        static_cast<guint>(*wait),
        [](gpointer data) -> gboolean {
          auto* self = static_cast<Preview*>(data);
          self->timer_ = 0;
          (void)guard([&] { self->pump(); });
          return G_SOURCE_REMOVE;
        },
        this);
  }
  state_changed();
}

void Preview::pump() {
  if (paused_) return;
  const std::optional<PreviewJob> job = model_.due(now());
  if (!job) return;
  if (!source_.ready(*job)) return start_loading();
  model_.start(*job);
  PreviewJob versioned = *job;
  versioned.version = version_;
  worker_->submit(std::move(versioned));
}

void Preview::accept(PreviewAnswer answer) {
  if (model_.finished(std::move(answer))) {
    canvas_.invalidate();
    update_marks();
    gtk_widget_queue_draw(area_);
  }
  schedule();
}

void Preview::state_changed() {
  const bool busy = model_.busy() && !paused_;
  g_object_set(spinner_, "active", busy, "visible", busy, nullptr);
  listener_.state_changed();
}

void Preview::load_slice() {
  const Viewport& view = model_.view();
  const bool reading = source_.loaded() < 1 || !source_.shows(view.visible(), view.level());
  const bool more = source_.load_some(expand(view.visible(), 64), view.level());
  if (!more) stop_loading();
  const bool read = source_.loaded() >= 1 && source_.shows(view.visible(), view.level());
  const bool tell = !more || (reading && (read || now() >= told_ + kTold));
  if (tell) told_ = now();
  if (reading && tell) {
    canvas_.invalidate();
    gtk_widget_queue_draw(area_);
  }
  pump();
  if (tell) {
    state_changed();
    listener_.view_changed();
  }
  if (!more && listener_.all_read) listener_.all_read();
}

void Preview::look(const Viewport& viewport) {
  model_.look(viewport, now());
  if (!paused_ && !source_.shows(viewport.visible(), viewport.level())) start_loading();
  update_marks();
  gtk_widget_queue_draw(area_);
  schedule();
  listener_.view_changed();
}

void Preview::set_view(View view) {
  view_ = view;
  update_marks();
  resized();
  gtk_widget_queue_draw(area_);
}

void Preview::resized() {
  Viewport viewport = model_.view();
  viewport.resize(PreviewCanvas::pane_width(view_, width()), height());
  if (!centred_) {
    const Rect target = source_.target();
    viewport.centre_on(target.x + target.width / 2.0, target.y + target.height / 2.0);
    centred_ = true;
  }
  look(viewport);
}

gboolean Preview::draw(cairo_t* cairo) {
  // Whatever the theme: colours and brightness are judged against it.
  cairo_set_source_rgb(cairo, kSurround, kSurround, kSurround);
  cairo_paint(cairo);
  cairo_save(cairo);
  cairo_scale(cairo, 1.0 / scale(), 1.0 / scale());
  const bool both = view_ == View::kSideBySide;
  // Nothing may be thrown through GTK, and the next time there may be memory for it.
  (void)guard([&] {
    canvas_.draw(cairo, original_shown_ && !both ? View::kOriginal : view_,
                 {width(), height(), scale()}, split_);
  });
  cairo_restore(cairo);
  log_delay();
  // GTK draws the picture anew when the focus comes, goes or begins to show, and not its frame.
  const bool focused = gtk_widget_has_visible_focus(area_);
  if (std::exchange(focused_, focused) != focused && frame_ != nullptr) {
    gtk_widget_queue_draw(frame_);
  }
  return TRUE;
}

void Preview::draw_focus_on(GtkWidget* frame) {
  frame_ = frame;
  g_object_set(overlay_, "margin", kFocusWidth, nullptr);
  g_signal_connect_after(frame, "draw",
                         G_CALLBACK(+[](GtkWidget* widget, cairo_t* cairo, GtkWidget* area) {
                           if (gtk_widget_has_visible_focus(area)) render_focus(widget, cairo);
                           return FALSE;
                         }),
                         area_);
}

// From the settings' change to exact pixels on the screen, as G_MESSAGES_DEBUG=grainless shows it.
void Preview::log_delay() {
  if (changed_ == 0 || model_.busy()) return;
  const auto delay = static_cast<double>(g_get_monotonic_time() - changed_) / 1000.0;
  changed_ = 0;
  g_debug("exact pixels %.1f ms after the change", delay);
}

void Preview::update_marks() {
  const bool both = view_ == View::kSplit || view_ == View::kSideBySide;
  const bool before = both || original_shown_ || view_ == View::kOriginal;
  const bool after = (both && !original_shown_) || (view_ == View::kSideBySide);
  const bool removed = view_ == View::kRemoved && !original_shown_;
  gtk_label_set_text(
      GTK_LABEL(before_mark_),
      removed ? format(_("Removed noise × %d"), canvas_.amplification()).c_str() : _("Original"));
  gtk_label_set_text(GTK_LABEL(after_mark_), _("Result"));
  gtk_widget_set_visible(before_mark_, before || removed);
  gtk_widget_set_visible(after_mark_, after);
}

void Preview::show_original(bool shown) {
  if (original_shown_ == shown) return;
  original_shown_ = shown;
  update_marks();
  gtk_widget_queue_draw(area_);
}

}  // namespace grainless::ui
