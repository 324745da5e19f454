// SPDX-License-Identifier: MIT
// The preview's widget: the visible part of the layer at 1:1, one image pixel a screen pixel. Drag
// pans, holding the button (or Space) shows the original.
#pragma once

#include <gtk/gtk.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "preview_model.h"
#include "preview_source.h"
#include "preview_worker.h"

namespace grainless::ui {

class Preview {
 public:
  struct Listener {
    std::function<void()> state_changed;
    std::function<void(const std::vector<DeviceChoice>&)> devices_found;
  };

  Preview(PreviewSource& source, Listener listener);
  ~Preview();
  Preview(const Preview&) = delete;
  Preview& operator=(const Preview&) = delete;

  GtkWidget* widget() const { return overlay_; }
  void set_params(const Params& params);

  bool busy() const { return model_.busy(); }
  double loaded() const { return source_.loaded(); }
  // The last result, shown until a newer one is there.
  const PreviewResult* result() const { return result_ ? &*result_ : nullptr; }
  // Why the newest settings gave none; empty otherwise.
  const std::string& error() const { return error_; }

 private:
  void build();
  void connect();
  void schedule();
  void pump();
  void state_changed();
  void accept(PreviewAnswer& answer);
  void post(std::function<void()> body) const;

  gboolean draw(cairo_t* cairo);
  void draw_pixels(cairo_t* cairo, const uint32_t* pixels, const Rect& held, double opacity) const;
  void resized();
  gboolean pressed(const GdkEventButton& event);
  gboolean moved(const GdkEventMotion& event);
  gboolean released();
  gboolean key(const GdkEventKey& event);
  void show_original(bool shown);
  void pan(int32_t dx, int32_t dy);
  bool load_slice();

  PreviewSource& source_;
  Listener listener_;
  PreviewModel model_;
  std::optional<PreviewResult> result_;
  std::string error_;

  GtkWidget* overlay_ = nullptr;
  GtkWidget* area_ = nullptr;
  GtkWidget* spinner_ = nullptr;
  GtkWidget* original_mark_ = nullptr;
  guint timer_ = 0, loader_ = 0;
  bool original_shown_ = false, button_down_ = false, panning_ = false, centred_ = false;
  double press_x_ = 0, press_y_ = 0;

  std::shared_ptr<bool> alive_;  // tells answers that arrive after the widget's end
  std::unique_ptr<PreviewWorker> worker_;
};

}  // namespace grainless::ui
