// SPDX-License-Identifier: MIT
// The filter's work in sight of the dialog: a progress bar, and Cancel stops the work instead of
// closing the dialog.
#pragma once

#include <gtk/gtk.h>

#include <vector>

#include "dialog.h"

namespace grainless::ui {

class WorkPanel {
 public:
  explicit WorkPanel(GtkDialog* dialog) : dialog_(dialog) {}

  // One line, to be shown during run().
  GtkWidget* build();
  // Runs work; the dialog answers whenever work reports progress.
  Status run(const Work& work);

 private:
  void set_buttons_sensitive(bool sensitive);
  void show_progress(double fraction, const std::string& text);
  void set_text(const char* text);
  void stop();

  GtkDialog* dialog_;
  GtkWidget* bar_ = nullptr;
  GtkWidget* text_ = nullptr;
  CancelToken* cancel_ = nullptr;  // while work runs
  std::vector<GtkWidget*> silenced_;
};

}  // namespace grainless::ui
