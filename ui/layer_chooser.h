// SPDX-License-Identifier: MIT
// Which layer of a stack the preview shows, in the order of GIMP's list of layers: the top one
// first.
#pragma once

#include <gtk/gtk.h>

#include <cstdint>

#include "preview.h"

namespace grainless::ui {

class LayerChooser {
 public:
  LayerChooser(Preview& preview, LayerList& layers);
  ~LayerChooser();
  LayerChooser(const LayerChooser&) = delete;
  LayerChooser& operator=(const LayerChooser&) = delete;

  // A label and a list.
  GtkWidget* widget() const { return box_; }
  // To the next one above (by 1) or below (-1), as far as there is one.
  void step(int by);

 private:
  void chosen();

  Preview& preview_;
  LayerList& layers_;
  int32_t count_;
  GtkWidget* box_;
  GtkComboBox* combo_;
};

}  // namespace grainless::ui
