// SPDX-License-Identifier: MIT
// One row of the dialog: which preset the settings are, and what can be done with presets.
#pragma once

#include <libgimp/gimpui.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/params/params.h"
#include "engine/params/preset_folder.h"

namespace grainless::ui {

enum class PresetUse { kPicture, kStack };

class PresetBar {
 public:
  // `params` turns the settings into parameters; `folder` holds the user's presets.
  PresetBar(GimpProcedureConfig* config, std::function<Params()> params, std::string folder,
            PresetUse use);
  ~PresetBar();
  PresetBar(const PresetBar&) = delete;
  PresetBar& operator=(const PresetBar&) = delete;

  GtkWidget* widget() const { return row_; }

 private:
  struct Entry {
    std::string id, label;
    std::string name;   // a preset's of the user
    Settings settings;  // all of the preset
    Status status;      // why the settings are not known
  };

  GtkWidget* make_menu();
  void add_action(GtkWidget* menu, const char* label, void (PresetBar::*action)());
  void act(void (PresetBar::*action)());
  void list_presets();
  static void fill(GtkComboBox* combo, const std::vector<Entry>& entries);
  // Shows which preset the settings are, the one chosen last where several say the same.
  void show_current();
  void choose();
  void explain();  // why the chosen preset can't be used
  const Entry& active() const;
  // What the preset sets here.
  Settings used(const Settings& settings) const;
  void apply(const Settings& settings);
  // What is wrong with a name for a preset, or to be known of it; false: it can't be used.
  bool judge(const std::string& name, std::string& text) const;
  // Saves under the user's name, lists and chooses it; false: says what went wrong.
  bool keep(const std::string& name, const Settings& settings);

  void save_as();
  void rename();
  void remove();
  void import_file();
  void export_file();

  GtkWindow* window() const;
  void complain(const std::string& sentence) const;

  GimpProcedureConfig* config_;
  std::function<Params()> params_;
  PresetFolder folder_;
  PresetUse use_;
  GtkWidget* row_;
  GtkComboBoxText* combo_ = nullptr;
  std::vector<GtkWidget*> for_own_;  // actions on a preset of the user
  std::vector<Entry> entries_;       // the rows of the combo box
  std::string chosen_;               // id of the last one that was chosen
  bool showing_ = false;             // the box follows the settings, not the user
  gulong changed_ = 0;
  void (PresetBar::*action_)() = nullptr;  // to be begun when idle
  guint idle_ = 0;
};

}  // namespace grainless::ui
