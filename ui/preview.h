// SPDX-License-Identifier: MIT
// The preview's widget: the visible part of the layer, before and after. Drag pans, the wheel
// zooms, holding the button (or Space) shows the original.
#pragma once

#include <gtk/gtk.h>

#include <functional>
#include <memory>
#include <string>

#include "preview_canvas.h"
#include "preview_model.h"
#include "preview_source.h"
#include "preview_worker.h"

namespace grainless::ui {

class Preview {
 public:
  struct Listener {
    std::function<void()> state_changed;  // busy(), info(), error()
    std::function<void()> view_changed;   // viewport(), the original's pixels, colours()
    std::function<void(const std::vector<DeviceChoice>&)> devices_found;
    std::function<void(int by)> layer_stepped = {};  // by a key: the next one up or down
    std::function<void()> all_read = {};             // and compared: look_at_layer() may know more
  };

  Preview(PreviewSource& source, Listener listener);
  ~Preview();
  Preview(const Preview&) = delete;
  Preview& operator=(const Preview&) = delete;

  GtkWidget* widget() const { return overlay_; }
  // The keyboard's focus is shown around the picture, on the frame that holds the widget.
  void draw_focus_on(GtkWidget* frame);
  void set_params(const Params& params);
  // What has become of the layer in the host; the preview follows. thorough: see PreviewSource.
  Situation look_at_layer(bool thorough);
  // The source is about this layer from now on.
  void layer_changed(int32_t layer);
  // Leaves the processor to others, and takes up its work again.
  void set_paused(bool paused);

  PreviewSource& source() const { return source_; }
  const ScreenColours& colours() { return canvas_.colours(); }
  const Viewport& viewport() const { return model_.view(); }
  void look(const Viewport& viewport);
  View view() const { return view_; }
  void set_view(View view);

  // Runs task on the worker thread; what it returns runs on the main thread after that, unless the
  // preview is gone by then.
  void compute_aside(std::function<std::function<void()>()> task);

  const PreviewModel& model() const { return model_; }
  double loaded() const { return source_.loaded(); }

 private:
  void build();
  void build_marks();
  void connect();
  void start_loading();
  void schedule();
  bool follow_image();
  void follow_colours();
  void pump();
  void state_changed();
  void accept(PreviewAnswer answer);
  void post(std::function<void()> body) const;
  void stop_loading();
  void go_on_loading();
  void load_slice();

  gboolean draw(cairo_t* cairo);
  void resized();
  gboolean pressed(const GdkEventButton& event);
  gboolean moved(const GdkEventMotion& event);
  gboolean released();
  gboolean scrolled(const GdkEventScroll& event);
  gboolean key(const GdkEventKey& event);
  void keyboard_left();
  bool zoom_key(guint key);
  bool layer_key(guint key);
  bool arrow_key(const GdkEventKey& event);
  void set_focus(double x, double y);
  void show_original(bool shown);
  void pan(int32_t dx, int32_t dy);
  void zoom_at(int by, double x, double y);
  void log_delay();
  void update_marks();
  void update_cursor(double x);
  bool near_split(double x) const;
  int scale() const { return gtk_widget_get_scale_factor(area_); }
  int32_t width() const { return gtk_widget_get_allocated_width(area_) * scale(); }
  int32_t height() const { return gtk_widget_get_allocated_height(area_) * scale(); }

  PreviewSource& source_;
  Listener listener_;
  PreviewModel model_;
  PreviewCanvas canvas_;

  GtkWidget* overlay_ = nullptr;
  GtkWidget* area_ = nullptr;
  GtkWidget* frame_ = nullptr;  // that shows the focus
  GtkWidget* spinner_ = nullptr;
  GtkWidget* before_mark_ = nullptr;
  GtkWidget* after_mark_ = nullptr;
  uint64_t version_ = 0;  // of the source
  guint timer_ = 0, loader_ = 0, urger_ = 0;
  int64_t read_ = 0;    // when a slice of the layer was read last
  int64_t told_ = 0;    // milliseconds: when the screen last showed what has been read
  uint64_t looks_ = 0;  // at what the layer is in the host
  View view_ = View::kResult;
  double split_ = 0.5;
  enum class Drag { kNone, kPressed, kPan, kSplit } drag_ = Drag::kNone;
  bool original_shown_ = false, centred_ = false, paused_ = false, focused_ = false;
  double press_x_ = 0, press_y_ = 0, scroll_ = 0;
  int64_t changed_ = 0;  // microseconds: when the settings that wait for exact pixels came; 0: none

  std::shared_ptr<bool> alive_;  // tells answers that arrive after the widget's end
  std::unique_ptr<PreviewWorker> worker_;
};

}  // namespace grainless::ui
