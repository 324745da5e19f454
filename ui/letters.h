// SPDX-License-Identifier: MIT
#pragma once

#include <gtk/gtk.h>

#include <functional>

namespace grainless::ui {

// Calls body whenever the widget's letters have become others: by GIMP's preferences, the
// desktop's large text, or a screen of another resolution. Not at once, so that the widgets inside
// have theirs, too; never after the widget is destroyed.
void when_letters_change(GtkWidget* widget, std::function<void()> body);

}  // namespace grainless::ui
