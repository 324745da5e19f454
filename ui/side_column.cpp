// SPDX-License-Identifier: MIT
#include "side_column.h"

#include <algorithm>

namespace grainless::ui {
namespace {

bool scrolls(GtkScrolledWindow* column) {
  GtkAdjustment* place = gtk_scrolled_window_get_vadjustment(column);
  return gtk_adjustment_get_upper(place) - gtk_adjustment_get_lower(place) >
         gtk_adjustment_get_page_size(place);
}

// What a control doesn't take goes to what is around it.
gboolean pass_wheel_on(GtkWidget* control, GdkEvent*, GtkScrolledWindow* column) {
  const bool taken = GTK_IS_ENTRY(control) && gtk_widget_has_focus(control);
  if (scrolls(column) && !taken) g_signal_stop_emission_by_name(control, "scroll-event");
  return FALSE;
}

void leave_wheel(GtkWidget* widget, gpointer column) {
  if (GTK_IS_ENTRY(widget) || GTK_IS_COMBO_BOX(widget)) {
    g_signal_connect(widget, "scroll-event", G_CALLBACK(pass_wheel_on), column);
  } else if (GTK_IS_CONTAINER(widget)) {
    gtk_container_forall(GTK_CONTAINER(widget), leave_wheel, column);
  }
}

}  // namespace

int least_width(GtkWidget* widget) {
  int least = 0;
  gtk_widget_get_preferred_width(widget, &least, nullptr);
  return least;
}

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

void fix_width(GtkWidget* column, const std::vector<GtkWidget*>& parts, int least, int most) {
  int width = 0;
  for (GtkWidget* part : parts) width = std::max(width, least_width(part));
  width += least_width(gtk_scrolled_window_get_vscrollbar(GTK_SCROLLED_WINDOW(column)));
  width = std::max(width, least);
  const bool fits = width <= most;
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(column),
                                 fits ? GTK_POLICY_EXTERNAL : GTK_POLICY_AUTOMATIC,
                                 GTK_POLICY_AUTOMATIC);
  gtk_widget_set_size_request(column, std::min(width, most), -1);
}

void leave_wheel_to(GtkWidget* column) {
  gtk_container_forall(GTK_CONTAINER(column), leave_wheel, column);
}

void shorten_names(GtkComboBox* combo) {
  GList* cells = gtk_cell_layout_get_cells(GTK_CELL_LAYOUT(combo));
  g_object_set(cells->data, "ellipsize", PANGO_ELLIPSIZE_MIDDLE, "single-paragraph-mode", TRUE,
               nullptr);
  g_list_free(cells);
}

}  // namespace grainless::ui
