// SPDX-License-Identifier: MIT
#pragma once

#include <gtk/gtk.h>

#include <string>

#include "letters.h"

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

// Of a line with letters of the user's own language.
inline int line_height(GtkWidget* label) {
  PangoLayout* layout = gtk_widget_create_pango_layout(label, "X");
  PangoContext* context = pango_layout_get_context(layout);
  const char* sample = pango_language_get_sample_string(pango_context_get_language(context));
  pango_layout_set_text(layout, (std::string("X") + sample).c_str(), -1);
  int height = 0;
  pango_layout_get_pixel_size(layout, nullptr, &height);
  g_object_unref(layout);
  return height;
}

// One that never takes more or less than so many lines, whichever scripts the names in it are
// written in: what stands above stays where it is. The rest of a longer text belongs into its
// tooltip. To be packed is its place_of().
inline GtkWidget* new_line_of_height(int width_chars, int lines) {
  GtkWidget* label = new_line(width_chars);
  gtk_label_set_yalign(GTK_LABEL(label), 0);
  gtk_label_set_lines(GTK_LABEL(label), lines);
  // Names stand within sentences: of one line both ends are kept.
  gtk_label_set_ellipsize(GTK_LABEL(label),
                          lines > 1 ? PANGO_ELLIPSIZE_END : PANGO_ELLIPSIZE_MIDDLE);
  GtkWidget* place = gtk_scrolled_window_new(nullptr, nullptr);
  // "External": its size is none of the label's business.
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(place), GTK_POLICY_EXTERNAL,
                                 GTK_POLICY_EXTERNAL);
  gtk_widget_set_can_focus(place, FALSE);
  const auto set_height = [=] {
    gtk_widget_set_size_request(place, -1, lines * line_height(label));
  };
  set_height();
  when_letters_change(label, set_height);
  gtk_container_add(GTK_CONTAINER(place), label);
  return label;
}

inline GtkWidget* place_of(GtkWidget* line_of_height) {
  return gtk_widget_get_ancestor(line_of_height, GTK_TYPE_SCROLLED_WINDOW);
}

// Only when it is another text: a selection in it stays otherwise.
inline void set_text(GtkWidget* label, const std::string& text) {
  if (text != gtk_label_get_text(GTK_LABEL(label))) {
    gtk_label_set_text(GTK_LABEL(label), text.c_str());
  }
}

}  // namespace grainless::ui
