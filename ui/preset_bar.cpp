// SPDX-License-Identifier: MIT
#include "preset_bar.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "preset_dialogs.h"
#include "side_column.h"
#include "text.h"

namespace grainless::ui {
namespace {

// Ids of the combo box: the user's presets may be called like anything.
constexpr char kOwn[] = "own", kBuiltInMark[] = "built-in:", kUserMark[] = "user:";
constexpr char kSeparator[] = "separator";  // between those that come with Grainless and the user's
constexpr size_t kMostInMenu = 100;         // rows
constexpr int kListHeight = 480, kBelowList = 24;  // pixels

gboolean is_separator(GtkTreeModel* model, GtkTreeIter* row, gpointer combo) {
  gchar* id = nullptr;
  gtk_tree_model_get(model, row, gtk_combo_box_get_id_column(GTK_COMBO_BOX(combo)), &id, -1);
  const bool separator = id != nullptr && std::string_view(id) == kSeparator;
  g_free(id);
  return separator ? TRUE : FALSE;
}

// From the top of the widget's window to the end of the screen.
int room_below(GtkWidget* widget) {
  GdkWindow* window = gtk_widget_get_window(gtk_widget_get_toplevel(widget));
  GdkRectangle area;
  int left = 0, top = 0;
  gdk_window_get_origin(window, &left, &top);
  gdk_monitor_get_workarea(
      gdk_display_get_monitor_at_window(gdk_window_get_display(window), window), &area);
  return std::max(area.y + area.height - top - kBelowList, kBelowList);
}

// GTK asks the list for its height when it knows few of its rows: the window would grow beyond the
// screen with the others, and would not scroll.
void keep_on_screen(GtkComboBox* combo) {
  AtkObject* popup = gtk_combo_box_get_popup_accessible(combo);
  GtkWidget* list =
      GTK_IS_ACCESSIBLE(popup) ? gtk_accessible_get_widget(GTK_ACCESSIBLE(popup)) : nullptr;
  gboolean shown = FALSE;
  g_object_get(combo, "popup-shown", &shown, nullptr);
  if (shown == FALSE || !GTK_IS_TREE_VIEW(list)) return;
  GtkWidget* scrolled = gtk_widget_get_ancestor(list, GTK_TYPE_SCROLLED_WINDOW);
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
                                 GTK_POLICY_ALWAYS);
  gtk_scrolled_window_set_min_content_height(GTK_SCROLLED_WINDOW(scrolled),
                                             std::min(room_below(scrolled), kListHeight));
  const gint row = std::max(gtk_combo_box_get_active(combo), 0);
  GtkTreePath* chosen = gtk_tree_path_new_from_indices(row, -1);
  gtk_tree_view_scroll_to_cell(GTK_TREE_VIEW(list), chosen, nullptr, TRUE, 0.5F, 0);
  gtk_tree_path_free(chosen);
}

// GTK makes a widget of each row of a menu, which takes it seconds for thousands, and a window of
// all of them, which can't have so many pixels. A list scrolls.
void show_as_list(GtkComboBox* combo, bool list) {
  GtkStyleContext* style = gtk_widget_get_style_context(GTK_WIDGET(combo));
  constexpr char kProvider[] = "grainless-list";
  auto* known = static_cast<GtkStyleProvider*>(g_object_get_data(G_OBJECT(combo), kProvider));
  if (list == (known != nullptr)) return;
  if (known != nullptr) {
    gtk_style_context_remove_provider(style, known);
    g_object_set_data(G_OBJECT(combo), kProvider, nullptr);
    return;
  }
  GtkCssProvider* provider = gtk_css_provider_new();
  gtk_css_provider_load_from_data(provider, "* { -GtkComboBox-appears-as-list: true; }", -1,
                                  nullptr);
  gtk_style_context_add_provider(style, GTK_STYLE_PROVIDER(provider),
                                 GTK_STYLE_PROVIDER_PRIORITY_USER);
  g_object_set_data_full(G_OBJECT(combo), kProvider, provider, g_object_unref);
}

// File names need not be UTF-8, what is shown must be.
std::string shown(const std::string& name) {
  gchar* text = g_filename_display_name(name.c_str());
  const std::string result = text;
  g_free(text);
  return result;
}

void write_value(GimpProcedureConfig* config, const ParamSpec& spec, const Params& params) {
  switch (spec.type) {
    case ParamType::kBool:
      g_object_set(config, spec.key, gboolean{params.*std::get<bool Params::*>(spec.member)},
                   nullptr);
      return;
    case ParamType::kInt:
      g_object_set(config, spec.key, params.*std::get<int32_t Params::*>(spec.member), nullptr);
      return;
    case ParamType::kDouble:
      g_object_set(config, spec.key, params.*std::get<double Params::*>(spec.member), nullptr);
      return;
    case ParamType::kChoice:
    case ParamType::kString:
      g_object_set(config, spec.key, param_text(params, spec).c_str(), nullptr);
      return;
  }
}

}  // namespace

PresetBar::PresetBar(GimpProcedureConfig* config, std::function<Params()> params,
                     std::string folder, PresetUse use)
    : config_(config),
      params_(std::move(params)),
      folder_(std::move(folder)),
      use_(use),
      row_(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6)) {
  GtkWidget* combo = gtk_combo_box_text_new();
  combo_ = GTK_COMBO_BOX_TEXT(combo);
  gtk_combo_box_set_row_separator_func(GTK_COMBO_BOX(combo), is_separator, combo, nullptr);
  shorten_names(GTK_COMBO_BOX(combo));
  g_signal_connect(combo, "notify::popup-shown", G_CALLBACK(keep_on_screen), nullptr);
  const char* tooltip =
      _("Settings under a name: choose from those that come with Grainless and "
        "those that you have saved.");
  atk_object_set_name(gtk_widget_get_accessible(combo), _("Preset"));
  gtk_widget_set_tooltip_text(combo, tooltip);
  GtkWidget* label = gtk_label_new_with_mnemonic(_("Pre_set"));
  gtk_label_set_mnemonic_widget(GTK_LABEL(label), combo);
  gtk_widget_set_tooltip_text(label, tooltip);

  gtk_box_pack_start(GTK_BOX(row_), label, FALSE, FALSE, 0);
  gtk_box_pack_start(GTK_BOX(row_), combo, TRUE, TRUE, 0);
  gtk_box_pack_start(GTK_BOX(row_), make_menu(), FALSE, FALSE, 0);
  list_presets();
  show_current();
  g_signal_connect_swapped(combo, "changed", G_CALLBACK(+[](PresetBar* self) { self->choose(); }),
                           this);
  changed_ = g_signal_connect_swapped(
      config_, "notify", G_CALLBACK(+[](PresetBar* self) { self->show_current(); }), this);
}

PresetBar::~PresetBar() {
  g_signal_handler_disconnect(config_, changed_);
  g_signal_handlers_disconnect_by_data(combo_, this);
  if (idle_ != 0) g_source_remove(idle_);
}

GtkWidget* PresetBar::make_menu() {
  GtkWidget* menu = gtk_menu_new();
  add_action(menu, _("_Save As…"), &PresetBar::save_as);
  add_action(menu, _("_Rename…"), &PresetBar::rename);
  add_action(menu, _("_Delete…"), &PresetBar::remove);
  add_action(menu, _("_Import…"), &PresetBar::import_file);
  add_action(menu, _("_Export…"), &PresetBar::export_file);
  gtk_widget_show_all(menu);
  GtkWidget* button = gtk_menu_button_new();
  gtk_menu_button_set_popup(GTK_MENU_BUTTON(button), menu);
  gtk_button_set_image(GTK_BUTTON(button),
                       gtk_image_new_from_icon_name("open-menu-symbolic", GTK_ICON_SIZE_BUTTON));
  atk_object_set_name(gtk_widget_get_accessible(button), _("Preset menu"));
  gtk_widget_set_tooltip_text(button, _("Save, delete, import and export presets"));
  return button;
}

void PresetBar::add_action(GtkWidget* menu, const char* label, void (PresetBar::*action)()) {
  struct Call {
    PresetBar* bar;
    void (PresetBar::*action)();
  };
  GtkWidget* item = gtk_menu_item_new_with_mnemonic(label);
  if (action == &PresetBar::remove || action == &PresetBar::rename) for_own_.push_back(item);
  g_signal_connect_data(
      item, "activate", G_CALLBACK(+[](GtkMenuItem*, Call* call) { call->bar->act(call->action); }),
      new Call{this, action}, [](gpointer call, GClosure*) { delete static_cast<Call*>(call); },
      GConnectFlags{});
  gtk_menu_shell_append(GTK_MENU_SHELL(menu), item);
}

// Not at once: the actions wait for answers in windows of their own, and a screen reader that chose
// the item waits for the menu's.
void PresetBar::act(void (PresetBar::*action)()) {
  action_ = action;
  if (idle_ != 0) return;
  const auto begin = +[](gpointer data) -> gboolean {
    auto* self = static_cast<PresetBar*>(data);
    self->idle_ = 0;
    (self->*self->action_)();
    return G_SOURCE_REMOVE;
  };
  idle_ = g_idle_add(begin, this);
}

void PresetBar::list_presets() {
  entries_ = {{kOwn, _("Your own settings"), {}, {}, {}}};
  for (const BuiltInPreset& preset : built_in_presets()) {
    const Settings settings = preset.settings();
    // Those that differ in nothing that matters here have one entry.
    const auto same = [&](const Entry& entry) { return used(entry.settings) == used(settings); };
    if (std::any_of(entries_.begin(), entries_.end(), same)) continue;
    entries_.push_back({std::string(kBuiltInMark) + preset.id, _(preset.label), {}, settings, {}});
  }
  const std::vector<std::string> own = folder_.names();
  if (!own.empty()) entries_.push_back({kSeparator, {}, {}, {}, {}});
  for (const std::string& name : own) {
    Settings settings;
    const Status status = folder_.load(name, settings);
    entries_.push_back({kUserMark + name, shown(name), name, settings, status});
  }
  showing_ = true;
  show_as_list(GTK_COMBO_BOX(combo_), entries_.size() > kMostInMenu);
  fill(GTK_COMBO_BOX(combo_), entries_);
  showing_ = false;
}

// Without the box, which would look at each row that comes.
void PresetBar::fill(GtkComboBox* combo, const std::vector<Entry>& entries) {
  GtkTreeModel* rows = gtk_combo_box_get_model(combo);
  g_object_ref(rows);
  gtk_combo_box_set_model(combo, nullptr);
  gtk_list_store_clear(GTK_LIST_STORE(rows));
  for (const Entry& entry : entries) {
    gtk_list_store_insert_with_values(
        GTK_LIST_STORE(rows), nullptr, -1, gtk_combo_box_get_entry_text_column(combo),
        entry.label.c_str(), gtk_combo_box_get_id_column(combo), entry.id.c_str(), -1);
  }
  gtk_combo_box_set_model(combo, rows);
  g_object_unref(rows);
}

void PresetBar::show_current() {
  const Params params = params_();
  const Entry* current = &entries_.front();
  for (const Entry& entry : entries_) {
    const Settings settings = used(entry.settings);
    if (settings.empty() || !has_settings(params, settings)) continue;
    if (current == &entries_.front() || entry.id == chosen_) current = &entry;
  }
  showing_ = true;
  gtk_combo_box_set_active_id(GTK_COMBO_BOX(combo_), current->id.c_str());
  showing_ = false;
  for (GtkWidget* item : for_own_) gtk_widget_set_sensitive(item, !current->name.empty());
}

const PresetBar::Entry& PresetBar::active() const {
  const gint row = gtk_combo_box_get_active(GTK_COMBO_BOX(combo_));
  return entries_[row < 0 ? 0 : static_cast<size_t>(row)];
}

void PresetBar::choose() {
  if (showing_) return;
  const Entry entry = active();
  chosen_ = entry.id;
  if (entry.status.ok()) {
    apply(entry.settings);
  } else {
    act(&PresetBar::explain);
  }
  show_current();
}

void PresetBar::explain() {
  for (const Entry& entry : entries_) {
    if (entry.id == chosen_ && !entry.status.ok()) return complain(entry.status.message());
  }
}

Settings PresetBar::used(const Settings& settings) const {
  return use_ == PresetUse::kStack ? stack_settings(settings) : settings;
}

void PresetBar::apply(const Settings& settings) {
  const Params before = params_();
  Params after = before;
  const Status status = apply_settings(used(settings), after);
  if (!status.ok()) return complain(status.message());
  // One change for everybody who listens, so that no preview of half a preset is begun.
  g_object_freeze_notify(G_OBJECT(config_));
  for (const ParamSpec& spec : param_specs()) {
    if (param_text(before, spec) != param_text(after, spec)) write_value(config_, spec, after);
  }
  g_object_thaw_notify(G_OBJECT(config_));
}

bool PresetBar::keep(const std::string& name, const Settings& settings) {
  const Status saved = folder_.save(name, settings);
  if (!saved.ok()) {
    complain(saved.message());
    return false;
  }
  list_presets();
  chosen_ = kUserMark + name;
  show_current();
  return true;
}

void PresetBar::save_as() {
  const auto name =
      ask_name(window(), {_("Save Preset"), _("_Save"), {}},
               [this](const auto& wanted, auto& text) { return judge(wanted, text); });
  if (name) keep(*name, settings_of(params_()));
}

// The box shows "Your own settings" for those without a name.
bool PresetBar::judge(const std::string& name, std::string& text) const {
  const Status good = check_preset_name(name);
  text = good.message();
  if (!good.ok()) return false;
  for (const Entry& entry : entries_) {
    if (!entry.name.empty() || entry.label != name) continue;
    text = format(_("“%s” has a meaning of its own: choose another name."), name.c_str());
    return false;
  }
  if (folder_.has(name)) text = _("There is a preset of this name: it will be replaced.");
  return true;
}

void PresetBar::rename() {
  const std::string name = active().name;
  if (name.empty()) return;
  const auto other = ask_name(window(), {_("Rename Preset"), _("_Rename"), shown(name)},
                              [&](const std::string& wanted, std::string& text) {
                                return judge(wanted, text) && wanted != name;
                              });
  if (!other) return;
  const Status renamed = folder_.rename(name, *other);
  if (!renamed.ok()) complain(renamed.message());
  list_presets();
  chosen_ = kUserMark + (renamed.ok() ? *other : name);
  show_current();
}

void PresetBar::remove() {
  const std::string name = active().name;
  const std::string question = format(_("Delete the preset “%s”?"), shown(name).c_str());
  if (name.empty() || !ask(window(), question, _("_Delete"))) return;
  const Status removed = folder_.remove(name);
  if (!removed.ok()) complain(removed.message());
  list_presets();
  show_current();
}

void PresetBar::import_file() {
  const auto path = ask_file(window(), FileUse::kImport, {});
  if (!path) return;
  Settings settings;
  const Status read = read_preset(*path, settings);
  if (!read.ok()) return complain(read.message());
  const std::string name = std::filesystem::path(*path).stem().string();
  std::string remark;
  if (!judge(name, remark)) return complain(remark);
  const std::string question =
      format(_("There is a preset “%s” already. Replace it?"), shown(name).c_str());
  if (folder_.has(name) && !ask(window(), question, _("_Replace"))) return;
  if (keep(name, settings)) apply(settings);
}

void PresetBar::export_file() {
  const Entry entry = active();
  const auto path = ask_file(window(), FileUse::kExport, shown(entry.name));
  if (!path) return;
  const Status written =
      write_preset(*path, entry.settings.empty() ? settings_of(params_()) : entry.settings);
  if (!written.ok()) complain(written.message());
}

GtkWindow* PresetBar::window() const {
  return GTK_WINDOW(gtk_widget_get_toplevel(row_));
}

void PresetBar::complain(const std::string& sentence) const {
  show_complaint(window(), sentence);
}

}  // namespace grainless::ui
