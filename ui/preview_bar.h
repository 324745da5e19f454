// SPDX-License-Identifier: MIT
// What stands under the preview: the overview, which view it shows, and the zoom.
#pragma once

#include <gtk/gtk.h>

#include "overview.h"
#include "preview.h"

namespace grainless::ui {

class PreviewBar {
 public:
  explicit PreviewBar(Preview& preview);

  GtkWidget* widget() const { return box_; }
  // Beside the overview, below the choices.
  void add_line(GtkWidget* widget);
  void show_view(View view);
  // The preview's view has changed.
  void update();

 private:
  GtkWidget* make_view();
  GtkWidget* make_zoom();
  GtkWidget* make_button(const char* icon, const char* label, int by);
  void view_chosen();
  void zoom_chosen();

  Preview& preview_;
  Overview overview_;
  GtkWidget* box_ = nullptr;
  GtkWidget* lines_ = nullptr;
  GtkComboBox* view_ = nullptr;
  GtkComboBox* zoom_ = nullptr;
  bool updating_ = false;
};

}  // namespace grainless::ui
