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

// One that never takes more or less than so many lines: what stands above stays where it is. The
// rest of a longer text is in the tooltip.
inline GtkWidget* new_line_of_height(int width_chars, int lines) {
  GtkWidget* label = new_line(width_chars);
  gtk_label_set_yalign(GTK_LABEL(label), 0);
  gtk_label_set_lines(GTK_LABEL(label), lines);
  gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
  PangoLayout* layout = gtk_widget_create_pango_layout(label, "X");
  int height = 0;
  pango_layout_get_pixel_size(layout, nullptr, &height);
  g_object_unref(layout);
  gtk_widget_set_size_request(label, -1, lines * height);
  return label;
}

// Only when it is another text: a selection in it stays otherwise.
inline void set_text(GtkWidget* label, const std::string& text) {
  if (text != gtk_label_get_text(GTK_LABEL(label))) {
    gtk_label_set_text(GTK_LABEL(label), text.c_str());
  }
}

}  // namespace grainless::ui
