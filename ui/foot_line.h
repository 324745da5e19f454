// SPDX-License-Identifier: MIT
// The last line below the preview: how to use it, or what is to be known of the layer that it
// shows, or how far the work is. It is as high whichever it is, so that the preview stays where it
// is.
#pragma once

#include <gtk/gtk.h>

#include <string>

namespace grainless::ui {

class FootLine {
 public:
  // progress: what is shown while the filter works.
  explicit FootLine(GtkWidget* progress);

  GtkWidget* widget() const { return stack_; }
  // About the layer that is shown; empty: nothing, and the hint is back.
  void set_remark(const std::string& remark);
  void set_working(bool working);

 private:
  void show();

  GtkWidget* stack_;
  GtkWidget* hint_;
  GtkWidget* remark_;
  GtkWidget* progress_;
  bool has_remark_ = false;
  bool working_ = false;
};

}  // namespace grainless::ui
