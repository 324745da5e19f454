// SPDX-License-Identifier: MIT
#include "preview_bar.h"

#include <glib/gi18n.h>

#include <cmath>
#include <string>

#include "text.h"

namespace grainless::ui {
namespace {

// In the order of View.
constexpr const char* kViews[] = {N_("Result"), N_("Original"), N_("Split"), N_("Side by side"),
                                  N_("Removed noise")};
constexpr int kFit = 0;  // the first entry of the zooms; the steps follow

std::string percent(double zoom) {
  return format(_("%d %%"), static_cast<int>(std::lround(zoom * 100)));
}

void name(GtkWidget* widget, const char* name, const char* tooltip) {
  atk_object_set_name(gtk_widget_get_accessible(widget), name);
  gtk_widget_set_tooltip_text(widget, tooltip);
}

GtkWidget* label_for(GtkWidget* widget, const char* text) {
  GtkWidget* label = gtk_label_new_with_mnemonic(text);
  gtk_label_set_mnemonic_widget(GTK_LABEL(label), widget);
  return label;
}

}  // namespace

PreviewBar::PreviewBar(Preview& preview)
    : preview_(preview), overview_(preview), box_(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12)) {
  gtk_box_pack_start(GTK_BOX(box_), overview_.widget(), FALSE, FALSE, 0);
  lines_ = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_set_valign(lines_, GTK_ALIGN_START);
  gtk_box_pack_start(GTK_BOX(box_), lines_, TRUE, TRUE, 0);
  GtkWidget* choices = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget* view = make_view();
  gtk_box_pack_start(GTK_BOX(choices), label_for(view, _("Vie_w")), FALSE, FALSE, 0);
  gtk_box_pack_start(GTK_BOX(choices), view, FALSE, FALSE, 0);
  GtkWidget* zoom = make_zoom();
  gtk_box_pack_end(GTK_BOX(choices), make_button("zoom-in-symbolic", _("Zoom in"), 1), FALSE, FALSE,
                   0);
  gtk_box_pack_end(GTK_BOX(choices), zoom, FALSE, FALSE, 0);
  gtk_box_pack_end(GTK_BOX(choices), make_button("zoom-out-symbolic", _("Zoom out"), -1), FALSE,
                   FALSE, 0);
  gtk_box_pack_end(GTK_BOX(choices), label_for(zoom, _("_Zoom")), FALSE, FALSE, 0);
  add_line(choices);
  update();
}

void PreviewBar::add_line(GtkWidget* widget) {
  gtk_box_pack_start(GTK_BOX(lines_), widget, FALSE, FALSE, 0);
}

GtkWidget* PreviewBar::make_view() {
  GtkWidget* combo = gtk_combo_box_text_new();
  for (const char* view : kViews)
    gtk_combo_box_text_append_text(GTK_COMBO_BOX_TEXT(combo), _(view));
  gtk_combo_box_set_active(GTK_COMBO_BOX(combo), 0);
  name(combo, _("View"),
       _("What the preview shows. The removed noise is the difference between "
         "original and result, amplified until it shows, around mid-grey: what "
         "has a shape in it is lost detail."));
  g_signal_connect_swapped(combo, "changed",
                           G_CALLBACK(+[](PreviewBar* self) { self->view_chosen(); }), this);
  view_ = GTK_COMBO_BOX(combo);
  return combo;
}

GtkWidget* PreviewBar::make_zoom() {
  GtkWidget* combo = gtk_combo_box_text_new();
  gtk_combo_box_text_append_text(GTK_COMBO_BOX_TEXT(combo), _("Fit"));
  for (const double zoom : Viewport::zoom_steps()) {
    gtk_combo_box_text_append_text(GTK_COMBO_BOX_TEXT(combo), percent(zoom).c_str());
  }
  name(combo, _("Zoom"),
       _("How large the layer is shown. It is always denoised at 100 % and scaled after that."));
  g_signal_connect_swapped(combo, "changed",
                           G_CALLBACK(+[](PreviewBar* self) { self->zoom_chosen(); }), this);
  zoom_ = GTK_COMBO_BOX(combo);
  return combo;
}

GtkWidget* PreviewBar::make_button(const char* icon, const char* label, int by) {
  GtkWidget* button = gtk_button_new_from_icon_name(icon, GTK_ICON_SIZE_BUTTON);
  name(button, label, label);
  g_object_set_data(G_OBJECT(button), "grainless-by", GINT_TO_POINTER(by));
  g_signal_connect(
      button, "clicked", G_CALLBACK(+[](GtkWidget* widget, PreviewBar* self) {
        Viewport viewport = self->preview_.viewport();
        viewport.zoom_by(GPOINTER_TO_INT(g_object_get_data(G_OBJECT(widget), "grainless-by")));
        self->preview_.look(viewport);
      }),
      this);
  return button;
}

void PreviewBar::show_view(View view) {
  gtk_combo_box_set_active(view_, static_cast<int>(view));
}

void PreviewBar::view_chosen() {
  preview_.set_view(static_cast<View>(gtk_combo_box_get_active(view_)));
}

void PreviewBar::zoom_chosen() {
  const int chosen = gtk_combo_box_get_active(zoom_);
  if (updating_ || chosen < 0) return;
  Viewport viewport = preview_.viewport();
  if (chosen == kFit) {
    viewport.fit();
  } else {
    viewport.zoom_to(Viewport::zoom_steps()[static_cast<size_t>(chosen - 1)]);
  }
  preview_.look(viewport);
}

void PreviewBar::update() {
  const Viewport& viewport = preview_.viewport();
  int chosen = kFit;
  const auto steps = Viewport::zoom_steps();
  for (size_t i = 0; i < steps.size() && !viewport.fits(); ++i) {
    if (std::fabs(steps[i] - viewport.zoom()) < 1e-6) chosen = static_cast<int>(i) + 1;
  }
  const std::string fit =
      viewport.fits() ? format(_("Fit (%s)"), percent(viewport.zoom()).c_str()) : _("Fit");
  GtkTreeModel* entries = gtk_combo_box_get_model(zoom_);
  GtkTreeIter row;
  updating_ = true;
  if (gtk_tree_model_get_iter_first(entries, &row)) {
    gchar* shown = nullptr;
    gtk_tree_model_get(entries, &row, 0, &shown, -1);
    if (fit != shown) gtk_list_store_set(GTK_LIST_STORE(entries), &row, 0, fit.c_str(), -1);
    g_free(shown);
  }
  if (gtk_combo_box_get_active(zoom_) != chosen) gtk_combo_box_set_active(zoom_, chosen);
  updating_ = false;
  overview_.update();
}

}  // namespace grainless::ui
