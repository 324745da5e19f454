// SPDX-License-Identifier: MIT
#pragma once

#include <gtk/gtk.h>

#include <string>

namespace grainless::ui {

// A label for a sentence that may wrap and be copied.
inline GtkWidget* new_line(int width_chars) {
  GtkWidget* label = gtk_label_new(nullptr);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_label_set_line_wrap(GTK_LABEL(label), TRUE);
  gtk_label_set_max_width_chars(GTK_LABEL(label), width_chars);
  gtk_label_set_selectable(GTK_LABEL(label), TRUE);
  gtk_widget_set_can_focus(label, FALSE);
  return label;
}

// Only when it is another text: a selection in it stays otherwise.
inline void set_text(GtkWidget* label, const std::string& text) {
  if (text != gtk_label_get_text(GTK_LABEL(label))) {
    gtk_label_set_text(GTK_LABEL(label), text.c_str());
  }
}

}  // namespace grainless::ui
