// SPDX-License-Identifier: MIT
// The whole layer as a thumbnail with a frame round what the preview shows; a click goes there.
#pragma once

#include <gtk/gtk.h>

#include "preview.h"

namespace grainless::ui {

class Overview {
 public:
  explicit Overview(Preview& preview);
  ~Overview();
  Overview(const Overview&) = delete;
  Overview& operator=(const Overview&) = delete;

  GtkWidget* widget() const { return area_; }
  // The preview's view or the layer's pixels have changed.
  void update();

 private:
  gboolean draw(cairo_t* cairo);
  void go_to(double x, double y);
  void render();
  void set_size();

  Preview& preview_;
  GtkWidget* area_;
  double scale_ = 1;  // of the layer, logical pixels a pixel
  cairo_surface_t* thumbnail_ = nullptr;
  double rendered_ = -1;  // how much of the layer was read for it
  uint64_t colours_ = 0;  // version of those it was rendered with
  int32_t layer_ = 0;     // that it is of
  uint64_t version_ = 0;  // of the source's pixels
};

}  // namespace grainless::ui
