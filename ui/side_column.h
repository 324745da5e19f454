// SPDX-License-Identifier: MIT
#pragma once

#include <gtk/gtk.h>

#include <vector>

namespace grainless::ui {

// Scrolls content up and down. How wide it is must be said: the content has no part in it.
GtkWidget* new_side_column(GtkWidget* content);

// Where the column scrolls, the wheel over one of its controls scrolls it, too, and changes no
// setting; but a number that has the keyboard takes the wheel. To be called when all are there.
void leave_wheel_to(GtkWidget* column);

// As wide as the widest of `parts` needs to be now, folded away or not, with the scroll bar beside
// it, and at least `least` pixels; never wider than `most`: what is wider scrolls sideways, too. It
// stays so: whatever the content comes to say must wrap or be shortened. The parts are in their
// window, which tells their style, and shown (gtk_widget_show_all).
void fix_width(GtkWidget* column, const std::vector<GtkWidget*>& parts, int least, int most);

// The least width that the widget asks for.
int least_width(GtkWidget* widget);

// A combo box of names that may be longer than its place, or have several lines.
void shorten_names(GtkComboBox* combo);

}  // namespace grainless::ui
