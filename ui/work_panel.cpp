// SPDX-License-Identifier: MIT
#include "work_panel.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <string_view>

#include "lines.h"

namespace grainless::ui {
namespace {

constexpr int kBarWidth = 200;
constexpr gint64 kSlice = 10000;  // microseconds for the window, out of the work's time

}  // namespace

GtkWidget* WorkPanel::build() {
  bar_ = gtk_progress_bar_new();
  gtk_widget_set_size_request(bar_, kBarWidth, -1);
  gtk_widget_set_valign(bar_, GTK_ALIGN_CENTER);
  atk_object_set_name(gtk_widget_get_accessible(bar_), _("Progress"));
  // Not the bar's own text, which is as high as the script of a layer's name.
  text_ = new_line_of_height(60, 1);
  GtkWidget* line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  gtk_box_pack_start(GTK_BOX(line), bar_, FALSE, FALSE, 0);
  gtk_box_pack_start(GTK_BOX(line), place_of(text_), TRUE, TRUE, 0);
  return line;
}

// Only Cancel goes on working.
void WorkPanel::set_buttons_sensitive(bool sensitive) {
  if (sensitive) {
    for (GtkWidget* button : silenced_) gtk_widget_set_sensitive(button, TRUE);
    silenced_.clear();
    return;
  }
  GtkWidget* cancel = gtk_dialog_get_widget_for_response(dialog_, GTK_RESPONSE_CANCEL);
  GList* buttons = gtk_container_get_children(GTK_CONTAINER(gtk_widget_get_parent(cancel)));
  for (GList* button = buttons; button != nullptr; button = button->next) {
    auto* widget = GTK_WIDGET(button->data);
    if (widget == cancel || !gtk_widget_get_sensitive(widget)) continue;
    gtk_widget_set_sensitive(widget, FALSE);
    silenced_.push_back(widget);
  }
  g_list_free(buttons);
  gtk_widget_grab_focus(cancel);
}

void WorkPanel::stop() {
  if (cancel_ == nullptr) return;
  cancel_->cancel();
  set_text(_("Stopping…"));
}

// Those who can't see the bar get its text as a description.
void WorkPanel::set_text(const char* text) {
  ui::set_text(text_, text);
  gtk_widget_set_tooltip_text(text_, text);
  AtkObject* accessible = gtk_widget_get_accessible(bar_);
  const gchar* known = atk_object_get_description(accessible);
  if (known == nullptr || std::string_view(known) != text) {
    atk_object_set_description(accessible, text);
  }
}

void WorkPanel::show_progress(double fraction, const std::string& text) {
  if (!cancel_->cancelled()) {
    set_text(text.c_str());
    gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(bar_), std::clamp(fraction, 0.0, 1.0));
  }
  const gint64 end = g_get_monotonic_time() + kSlice;
  while (g_get_monotonic_time() < end && g_main_context_iteration(nullptr, FALSE)) {
  }
}

Status WorkPanel::run(const Work& work) {
  CancelToken cancel;
  cancel_ = &cancel;
  gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(bar_), 0);
  set_text("");
  set_buttons_sensitive(false);
  const gulong response =
      g_signal_connect(dialog_, "response", G_CALLBACK(+[](GtkDialog*, gint id, WorkPanel* self) {
                         if (id == GTK_RESPONSE_CANCEL || id == GTK_RESPONSE_DELETE_EVENT)
                           self->stop();
                       }),
                       this);
  // The window must outlive the work.
  const gulong close = g_signal_connect(
      dialog_, "delete-event", G_CALLBACK(+[](GtkWidget*, GdkEvent*, WorkPanel* self) -> gboolean {
        self->stop();
        return TRUE;
      }),
      this);
  const Status status = work({&cancel, [this](double fraction, const std::string& text) {
                                show_progress(fraction, text);
                              }});
  g_signal_handler_disconnect(dialog_, response);
  g_signal_handler_disconnect(dialog_, close);
  set_buttons_sensitive(true);
  cancel_ = nullptr;
  return status;
}

}  // namespace grainless::ui
