// SPDX-License-Identifier: MIT
// Which of several layers the preview shows, in the order of GIMP's list of layers: the top one
// first.
#pragma once

#include <gtk/gtk.h>

#include <cstdint>
#include <string>

#include "preview.h"

namespace grainless::ui {

class LayerChooser {
 public:
  // stack: the layers are filtered together.
  LayerChooser(Preview& preview, LayerList& layers, bool stack);
  ~LayerChooser();
  LayerChooser(const LayerChooser&) = delete;
  LayerChooser& operator=(const LayerChooser&) = delete;

  // A row, which is not shown when it has nothing to say. what: which layers these are.
  GtkWidget* build(const std::string& what);
  // Whether another layer may be chosen.
  void set_sensitive(bool sensitive);
  // To the next one above (by 1) or below (-1), as far as there is one and it may be chosen.
  void step(int by);

 private:
  void chosen();
  void fill_list();

  Preview& preview_;
  LayerList& layers_;
  bool stack_;
  int32_t count_ = 0;
  GtkComboBox* combo_;
};

}  // namespace grainless::ui
