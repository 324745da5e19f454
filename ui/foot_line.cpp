// SPDX-License-Identifier: MIT
#include "foot_line.h"

#include <glib/gi18n.h>

#include "lines.h"

namespace grainless::ui {

FootLine::FootLine(GtkWidget* progress)
    : stack_(gtk_stack_new()),
      hint_(new_line_of_height(60, 1)),
      remark_(new_line_of_height(60, 1)),
      progress_(progress) {
  set_text(hint_,
           _("Drag moves, the wheel zooms; hold the button, or Space, to see the original."));
  gtk_label_set_selectable(GTK_LABEL(hint_), FALSE);
  gtk_style_context_add_class(gtk_widget_get_style_context(hint_), "dim-label");
  for (GtkWidget* page : {place_of(hint_), place_of(remark_), progress_}) {
    gtk_container_add(GTK_CONTAINER(stack_), page);
  }
  gtk_widget_set_tooltip_text(hint_, gtk_label_get_text(GTK_LABEL(hint_)));  // all of it
}

void FootLine::show() {
  gtk_stack_set_visible_child(GTK_STACK(stack_),
                              working_ ? progress_ : place_of(has_remark_ ? remark_ : hint_));
}

void FootLine::set_remark(const std::string& remark) {
  has_remark_ = !remark.empty();
  set_text(remark_, remark);
  gtk_widget_set_tooltip_text(remark_, remark.c_str());
  show();
}

void FootLine::set_working(bool working) {
  working_ = working;
  show();
}

}  // namespace grainless::ui
