// SPDX-License-Identifier: MIT
// One widget a parameter, from the table.
#pragma once

#include <libgimp/gimpui.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/params/params.h"
#include "preview_source.h"

namespace grainless::ui {

class Controls {
 public:
  // Is told of a check box that the user clicks on, before its parameter has the new value; and not
  // when a preset or the dialog's Reset changes it.
  using Clicked = std::function<void(const std::string& key, bool on)>;
  Controls(GimpProcedureDialog* dialog, GimpProcedureConfig* config, Clicked clicked);

  // A column with widgets for those of the group that the procedure has; `extra` comes below that
  // of the parameter `after`.
  GtkWidget* column(ParamGroup group, std::string_view after = {}, GtkWidget* extra = nullptr);
  // Greys out what has no effect with these settings, or on a picture without colour.
  void update_sensitivity(const Params& params, bool has_colour);
  // What the parameter is as long as it doesn't apply; none: the value in the settings.
  void show_instead(const std::string& key, std::optional<double> value);
  // Offers the devices that were found.
  void set_devices(const std::vector<DeviceChoice>& devices);

 private:
  GtkWidget* make_widget(const ParamSpec& spec);
  GtkWidget* make_check(const ParamSpec& spec);
  void check_toggled(GtkToggleButton* check);
  GtkWidget* make_number(const ParamSpec& spec);
  GtkWidget* make_device(const ParamSpec& spec);
  GtkWidget* make_label(const ParamSpec& spec, GtkWidget* widget);
  void reset_on_double_click(GtkWidget* widget, const ParamSpec& spec);
  void add_row(GtkGrid* grid, int row, const ParamSpec& spec);

  GimpProcedureDialog* dialog_;
  GimpProcedureConfig* config_;
  Clicked clicked_;
  std::map<std::string, std::vector<GtkWidget*>> widgets_;  // by key, with their labels
  GtkComboBoxText* device_ = nullptr;
};

}  // namespace grainless::ui
