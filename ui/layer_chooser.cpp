// SPDX-License-Identifier: MIT
#include "layer_chooser.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <vector>

#include "lines.h"
#include "side_column.h"
#include "text.h"

namespace grainless::ui {
namespace {

constexpr int kWidth = 200;

}  // namespace

LayerChooser::LayerChooser(Preview& preview, LayerList& layers, bool stack)
    : preview_(preview),
      layers_(layers),
      stack_(stack),
      combo_(GTK_COMBO_BOX(g_object_ref_sink(gtk_combo_box_text_new()))) {
  fill_list();
  g_signal_connect_swapped(combo_, "changed",
                           G_CALLBACK(+[](LayerChooser* self) { self->chosen(); }), this);
}

void LayerChooser::fill_list() {
  for (const std::string& name : layers_.names()) {
    gtk_combo_box_text_prepend_text(GTK_COMBO_BOX_TEXT(combo_), name.c_str());
    ++count_;
  }
  shorten_names(combo_);
  gtk_widget_set_size_request(GTK_WIDGET(combo_), kWidth, -1);
  gtk_combo_box_set_active(combo_, count_ - 1 - layers_.shown());
}

GtkWidget* LayerChooser::build(const std::string& what) {
  GtkWidget* box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  if (count_ < 2) return box;
  GtkWidget* row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  auto* combo = GTK_WIDGET(combo_);
  atk_object_set_name(gtk_widget_get_accessible(combo), _("Layer"));
  gtk_widget_set_tooltip_text(
      combo, _("Which layer the preview shows. All of them are denoised. In the preview, Page Up "
               "and Page Down go to the layer above and below."));
  // Of pictures, "Reference step" has its mnemonic.
  GtkWidget* label = stack_ ? gtk_label_new_with_mnemonic(_("Lay_er")) : gtk_label_new(_("Layer"));
  gtk_label_set_mnemonic_widget(GTK_LABEL(label), combo);
  gtk_box_pack_start(GTK_BOX(row), label, FALSE, FALSE, 0);
  gtk_box_pack_start(GTK_BOX(row), combo, FALSE, FALSE, 0);
  GtkWidget* others = new_line(50);
  set_text(others, stack_ ? what
                          : format(ngettext("One of %d selected layer", "One of %d selected layers",
                                            static_cast<unsigned long>(count_)),
                                   count_));
  gtk_box_pack_start(GTK_BOX(row), others, TRUE, TRUE, 6);
  gtk_box_pack_start(GTK_BOX(box), row, FALSE, FALSE, 0);
  return box;
}

LayerChooser::~LayerChooser() {
  g_signal_handlers_disconnect_by_data(combo_, this);
  g_object_unref(combo_);
}

void LayerChooser::set_sensitive(bool sensitive) {
  gtk_widget_set_sensitive(GTK_WIDGET(combo_), sensitive);
}

void LayerChooser::step(int by) {
  if (!gtk_widget_get_sensitive(GTK_WIDGET(combo_))) return;
  const gint row = std::clamp(gtk_combo_box_get_active(combo_) - by, 0, count_ - 1);
  gtk_combo_box_set_active(combo_, row);
}

void LayerChooser::chosen() {
  const int32_t layer = count_ - 1 - gtk_combo_box_get_active(combo_);
  if (layer == layers_.shown()) return;
  layers_.show(layer);
  preview_.layer_changed(layer);
}

}  // namespace grainless::ui
