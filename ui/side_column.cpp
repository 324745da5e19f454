// SPDX-License-Identifier: MIT
#include "side_column.h"

#include <algorithm>

namespace grainless::ui {
namespace {

int least_width(GtkWidget* widget) {
  int least = 0;
  gtk_widget_get_preferred_width(widget, &least, nullptr);
  return least;
}

}  // namespace

GtkWidget* new_side_column(GtkWidget* content) {
  GtkWidget* column = gtk_scrolled_window_new(nullptr, nullptr);
  // "External": not as wide as the content wants to be in this moment.
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(column), GTK_POLICY_EXTERNAL,
                                 GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_overlay_scrolling(GTK_SCROLLED_WINDOW(column), FALSE);
  gtk_container_add(GTK_CONTAINER(column), content);
  gtk_widget_set_hexpand(column, FALSE);  // its controls would claim the preview's room
  return column;
}

void fix_width(GtkWidget* column, const std::vector<GtkWidget*>& parts, int least) {
  int width = 0;
  for (GtkWidget* part : parts) width = std::max(width, least_width(part));
  width += least_width(gtk_scrolled_window_get_vscrollbar(GTK_SCROLLED_WINDOW(column)));
  gtk_widget_set_size_request(column, std::max(width, least), -1);
}

void shorten_names(GtkComboBox* combo) {
  GList* cells = gtk_cell_layout_get_cells(GTK_CELL_LAYOUT(combo));
  g_object_set(cells->data, "ellipsize", PANGO_ELLIPSIZE_MIDDLE, "single-paragraph-mode", TRUE,
               nullptr);
  g_list_free(cells);
}

}  // namespace grainless::ui
