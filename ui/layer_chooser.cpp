// SPDX-License-Identifier: MIT
#include "layer_chooser.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <string>
#include <vector>

namespace grainless::ui {
namespace {

constexpr int kWidth = 200;

// Names may be longer than the dialog is wide.
void shorten_names(GtkComboBox* combo) {
  GList* cells = gtk_cell_layout_get_cells(GTK_CELL_LAYOUT(combo));
  g_object_set(cells->data, "ellipsize", PANGO_ELLIPSIZE_MIDDLE, nullptr);
  g_list_free(cells);
  gtk_widget_set_size_request(GTK_WIDGET(combo), kWidth, -1);
}

}  // namespace

LayerChooser::LayerChooser(Preview& preview, LayerList& layers)
    : preview_(preview),
      layers_(layers),
      count_(0),
      box_(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6)),
      combo_(GTK_COMBO_BOX(gtk_combo_box_text_new())) {
  for (const std::string& name : layers.names()) {
    gtk_combo_box_text_prepend_text(GTK_COMBO_BOX_TEXT(combo_), name.c_str());
    ++count_;
  }
  shorten_names(combo_);
  gtk_combo_box_set_active(combo_, count_ - 1 - layers.shown());
  auto* combo = GTK_WIDGET(combo_);
  atk_object_set_name(gtk_widget_get_accessible(combo), _("Layer"));
  gtk_widget_set_tooltip_text(
      combo, _("Which layer the preview shows. All of them are denoised. In the preview, Page Up "
               "and Page Down go to the layer above and below."));
  GtkWidget* label = gtk_label_new_with_mnemonic(_("Lay_er"));
  gtk_label_set_mnemonic_widget(GTK_LABEL(label), combo);
  gtk_box_pack_start(GTK_BOX(box_), label, FALSE, FALSE, 0);
  gtk_box_pack_start(GTK_BOX(box_), combo, FALSE, FALSE, 0);
  g_signal_connect_swapped(combo, "changed",
                           G_CALLBACK(+[](LayerChooser* self) { self->chosen(); }), this);
}

LayerChooser::~LayerChooser() {
  g_signal_handlers_disconnect_by_data(combo_, this);
}

void LayerChooser::step(int by) {
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
