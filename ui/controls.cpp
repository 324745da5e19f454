// SPDX-License-Identifier: MIT
#include "controls.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "side_column.h"
#include "text.h"

namespace grainless::ui {
namespace {

std::string without_mnemonic(std::string text) {
  std::erase(text, '_');
  return text;
}

void name(GtkWidget* widget, const ParamSpec& spec) {
  atk_object_set_name(gtk_widget_get_accessible(widget), without_mnemonic(_(spec.label)).c_str());
  gtk_widget_set_tooltip_text(widget, _(spec.tooltip));
}

// Numbers with 0 for "automatic" say so.
gboolean show_automatic(GtkSpinButton* spin, gpointer) {
  if (gtk_spin_button_get_value_as_int(spin) != 0) return FALSE;
  gtk_entry_set_text(GTK_ENTRY(spin), _("Automatic"));
  return TRUE;
}

// With a point, a comma or the language's own decimal sign: what reads most of the text.
std::optional<double> number_in(const std::string& text) {
  std::string point = text;
  std::replace(point.begin(), point.end(), ',', '.');
  std::optional<double> number;
  ptrdiff_t longest = 0;
  for (const std::string& one : {text, point}) {
    gchar* end = nullptr;
    const double value = g_strtod(one.c_str(), &end);
    if (end - one.c_str() <= longest || std::isnan(value)) continue;
    longest = end - one.c_str();
    number = value;
  }
  return number;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "1,000", "1.000", "1 000" and "1'000" are a thousand.
std::string without_group_marks(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text.find_first_not_of("0123456789", i + 1);
    const bool group = (end == std::string::npos ? text.size() : end) == i + 4;
    const bool mark = std::strchr(",.' ", text[i]) != nullptr && i > 0 && is_digit(text[i - 1]);
    if (!(mark && group)) plain += text[i];
  }
  return plain;
}

// Data of the box that counts mebibytes.
constexpr char kMebibytes[] = "grainless-mebibytes";

// "2 GiB", "2gb" and "2 Go" are 2048 mebibytes.
double unit_in(GtkSpinButton* spin, const std::string& text) {
  if (g_object_get_data(G_OBJECT(spin), kMebibytes) == nullptr) return 1;
  const size_t unit = text.find_first_not_of("0123456789., ");
  return unit != std::string::npos && g_ascii_tolower(text[unit]) == 'g' ? 1024 : 1;
}

// Whether the text begins the word for "automatic", however it is written; nothing at all does.
bool means_automatic(const std::string& text) {
  gchar* begun = g_utf8_casefold(text.c_str(), -1);
  gchar* word = g_utf8_casefold(_("Automatic"), -1);
  const bool means = std::string_view(word).starts_with(begun);
  g_free(begun);
  g_free(word);
  return means;
}

// GTK takes what is no number for 0; here the value stays.
gint read_automatic(GtkSpinButton* spin, gdouble* value, gpointer) {
  g_signal_stop_emission_by_name(spin, "input");  // GIMP's spin buttons would read it once more
  *value = gtk_spin_button_get_value(spin);
  const std::string text = without_group_marks(gtk_entry_get_text(GTK_ENTRY(spin)));
  gdouble least = 0;
  gtk_spin_button_get_range(spin, &least, nullptr);
  if (const std::optional<double> number = number_in(text)) {
    *value = *number * unit_in(spin, text);
  } else if (least <= 0 && means_automatic(text)) {
    *value = 0;
  }
  return TRUE;
}

// Data of sliders: what is shown instead of their number, see show_instead(), and a number's unit.
constexpr char kInstead[] = "grainless-instead", kUnit[] = "grainless-unit";

std::string number_text(GtkSpinButton* spin, double value) {
  const std::string number =
      format("%.*f", static_cast<int>(gtk_spin_button_get_digits(spin)), value);
  const auto* unit = static_cast<const char*>(g_object_get_data(G_OBJECT(spin), kUnit));
  return unit != nullptr ? number + " " + unit : number;
}

void show_number(GtkSpinButton* spin) {
  gtk_entry_set_text(GTK_ENTRY(spin), number_text(spin, gtk_spin_button_get_value(spin)).c_str());
}

gboolean show_value(GtkSpinButton* spin, gpointer) {
  const int tenths = GPOINTER_TO_INT(g_object_get_data(G_OBJECT(spin), kInstead));
  if (tenths == 0 && g_object_get_data(G_OBJECT(spin), kUnit) == nullptr) return FALSE;
  const double value = tenths > 0 ? (tenths - 1) / 10.0 : gtk_spin_button_get_value(spin);
  gtk_entry_set_text(GTK_ENTRY(spin), number_text(spin, value).c_str());
  return TRUE;
}

// A number with or without its unit. What is none leaves the value as it is, in full where nobody
// has touched the rounded one.
gint read_value(GtkSpinButton* spin, gdouble* value, gpointer) {
  g_signal_stop_emission_by_name(spin, "input");  // GIMP's spin scales would read it once more
  *value = gtk_spin_button_get_value(spin);
  const std::string text = gtk_entry_get_text(GTK_ENTRY(spin));
  const bool instead = GPOINTER_TO_INT(g_object_get_data(G_OBJECT(spin), kInstead)) > 0;
  if (instead || text == number_text(spin, *value)) return TRUE;
  const std::optional<double> number = number_in(text);
  if (number) *value = *number;
  return TRUE;
}

bool allowed(const ParamSpec& spec, int32_t value) {
  Params params;
  params.*std::get<int32_t Params::*>(spec.member) = value;
  return validate(params).ok();
}

// Values that a parameter doesn't take are skipped in the direction the user goes: 0, 3, 5, 7… for
// the search window, powers of two for the group.
int32_t nearest_allowed(const ParamSpec& spec, int32_t value, int32_t before) {
  const int32_t direction = value >= before ? 1 : -1;
  const auto low = static_cast<int32_t>(spec.minimum), high = static_cast<int32_t>(spec.maximum);
  for (int32_t v = value; v >= low && v <= high; v += direction) {
    if (allowed(spec, v)) return v;
  }
  for (int32_t v = value; v >= low && v <= high; v -= direction) {
    if (allowed(spec, v)) return v;
  }
  return before;
}

constexpr int kLabelChars = 22;
constexpr double kFaint = 0.5;  // the opacity of what has no effect

// Data of widgets that reset their parameter on a double click.
constexpr char kKey[] = "grainless-key", kConfig[] = "grainless-config", kTwice[] = "grainless-2";

// GSourceFunc; the data is such a widget.
gboolean reset(gpointer widget) {
  auto* config = static_cast<GObject*>(g_object_get_data(G_OBJECT(widget), kConfig));
  const auto* key = static_cast<const char*>(g_object_get_data(G_OBJECT(widget), kKey));
  GParamSpec* property = g_object_class_find_property(G_OBJECT_GET_CLASS(config), key);
  g_object_set_property(config, key, g_param_spec_get_default_value(property));
  return G_SOURCE_REMOVE;
}

// Two quick clicks on + or - of a slider are no double click on it.
bool on_value(GtkWidget* widget, const GdkEventButton& event) {
  if (!GTK_IS_ENTRY(widget)) return true;
  gint left = 0, top = 0, width = 0, height = 0, origin_x = 0, origin_y = 0;
  GTK_ENTRY_GET_CLASS(widget)->get_text_area_size(GTK_ENTRY(widget), &left, &top, &width, &height);
  GtkAllocation place;
  gtk_widget_get_allocation(widget, &place);
  gdk_window_get_origin(gtk_widget_get_window(widget), &origin_x, &origin_y);
  const double x = event.x_root - origin_x - place.x;
  return x >= left && x < left + width;
}

bool has_argument(GimpProcedureConfig* config, const char* key) {
  return g_object_class_find_property(G_OBJECT_GET_CLASS(config), key) != nullptr;
}

void skip_forbidden(GtkSpinButton* spin, gpointer data) {
  const auto& spec = *static_cast<const ParamSpec*>(data);
  const auto value = gtk_spin_button_get_value_as_int(spin);
  const auto before = GPOINTER_TO_INT(g_object_get_data(G_OBJECT(spin), "grainless-before"));
  const int32_t good = nearest_allowed(spec, value, before);
  g_object_set_data(G_OBJECT(spin), "grainless-before", GINT_TO_POINTER(good));
  if (good != value) gtk_spin_button_set_value(spin, good);
}

}  // namespace

Controls::Controls(GimpProcedureDialog* dialog, GimpProcedureConfig* config, Clicked clicked)
    : dialog_(dialog), config_(config), clicked_(std::move(clicked)) {}

GtkWidget* Controls::column(ParamGroup group, std::string_view after, GtkWidget* extra) {
  GtkWidget* grid = gtk_grid_new();
  gtk_grid_set_row_spacing(GTK_GRID(grid), 6);
  gtk_grid_set_column_spacing(GTK_GRID(grid), 6);
  int row = 0;
  for (const ParamSpec& spec : param_specs()) {
    if (spec.group != group || !has_argument(config_, spec.key)) continue;
    add_row(GTK_GRID(grid), row++, spec);
    if (extra != nullptr && after == spec.key) {
      gtk_grid_attach(GTK_GRID(grid), extra, 0, row++, 2, 1);
    }
  }
  return grid;
}

void Controls::add_row(GtkGrid* grid, int row, const ParamSpec& spec) {
  GtkWidget* widget = make_widget(spec);
  name(widget, spec);
  gtk_widget_set_hexpand(widget, TRUE);
  widgets_[spec.key] = {widget};
  // Check boxes and GIMP's spin scales carry their label themselves.
  if (spec.type == ParamType::kBool || spec.type == ParamType::kDouble) {
    if (spec.type == ParamType::kDouble) reset_on_double_click(widget, spec);
    gtk_grid_attach(grid, widget, 0, row, 2, 1);
    return;
  }
  GtkWidget* label = make_label(spec, widget);
  widgets_[spec.key].push_back(label);
  gtk_grid_attach(grid, label, 0, row, 1, 1);
  gtk_grid_attach(grid, widget, 1, row, 1, 1);
}

GtkWidget* Controls::make_label(const ParamSpec& spec, GtkWidget* widget) {
  GtkWidget* label = gtk_label_new_with_mnemonic(_(spec.label));
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  // A long label in one line would make the window wider than a small screen.
  gtk_label_set_line_wrap(GTK_LABEL(label), TRUE);
  gtk_label_set_max_width_chars(GTK_LABEL(label), kLabelChars);
  gtk_label_set_mnemonic_widget(GTK_LABEL(label), widget);
  // Labels have no window that would take clicks.
  GtkWidget* box = gtk_event_box_new();
  gtk_event_box_set_visible_window(GTK_EVENT_BOX(box), FALSE);
  gtk_container_add(GTK_CONTAINER(box), label);
  gtk_widget_set_tooltip_text(box, _(spec.tooltip));
  reset_on_double_click(box, spec);
  return box;
}

void Controls::reset_on_double_click(GtkWidget* widget, const ParamSpec& spec) {
  g_object_set_data(G_OBJECT(widget), kKey, const_cast<char*>(spec.key));
  g_object_set_data(G_OBJECT(widget), kConfig, config_);
  const std::string tooltip = format(_("%s Double-click to reset it."), _(spec.tooltip));
  gtk_widget_set_tooltip_text(widget, tooltip.c_str());
  g_signal_connect(widget, "button-press-event",
                   G_CALLBACK(+[](GtkWidget* clicked, GdkEventButton* event, gpointer) -> gboolean {
                     const bool twice =
                         event->type == GDK_2BUTTON_PRESS && on_value(clicked, *event);
                     g_object_set_data(G_OBJECT(clicked), kTwice, GINT_TO_POINTER(twice ? 1 : 0));
                     return twice ? TRUE : FALSE;
                   }),
                   nullptr);
  // Not before the slider has taken the pointer's place for its value, when the button goes up.
  g_signal_connect(widget, "button-release-event",
                   G_CALLBACK(+[](GtkWidget* clicked, GdkEventButton*, gpointer) -> gboolean {
                     if (g_object_get_data(G_OBJECT(clicked), kTwice) == nullptr) return FALSE;
                     g_object_set_data(G_OBJECT(clicked), kTwice, nullptr);
                     g_idle_add_full(G_PRIORITY_DEFAULT, reset, g_object_ref(clicked),
                                     g_object_unref);
                     return FALSE;
                   }),
                   nullptr);
}

GtkWidget* Controls::make_widget(const ParamSpec& spec) {
  GObject* config = G_OBJECT(config_);
  switch (spec.type) {
    case ParamType::kChoice:
      return gimp_prop_choice_combo_box_new(config, spec.key);
    case ParamType::kBool:
      return make_check(spec);
    case ParamType::kDouble: {
      // GIMP's own complains of a label without a letter: the alphabet is shorter than the dialog.
      GtkWidget* scale = std::strchr(spec.label, '_') != nullptr
                             ? gimp_procedure_dialog_get_spin_scale(dialog_, spec.key, 1.0)
                             : gimp_prop_spin_scale_new(config, spec.key, spec.step, 0, 0);
      gtk_spin_button_set_digits(GTK_SPIN_BUTTON(scale), spec.digits);
      gtk_spin_button_set_increments(GTK_SPIN_BUTTON(scale), spec.step, 10 * spec.step);
      if (spec.unit != nullptr)
        g_object_set_data(G_OBJECT(scale), kUnit, const_cast<char*>(spec.unit));
      gtk_spin_button_set_numeric(GTK_SPIN_BUTTON(scale), FALSE);  // a unit is no number
      g_signal_connect(scale, "output", G_CALLBACK(show_value), nullptr);
      g_signal_connect(scale, "input", G_CALLBACK(read_value), nullptr);
      gtk_spin_button_update(GTK_SPIN_BUTTON(scale));
      return scale;
    }
    case ParamType::kInt:
      return make_number(spec);
    case ParamType::kString:
      return make_device(spec);
  }
  return nullptr;
}

// With a binding of its own: GIMP's check button doesn't say whether it or the settings came first.
GtkWidget* Controls::make_check(const ParamSpec& spec) {
  GtkWidget* check = gtk_check_button_new_with_mnemonic(_(spec.label));
  g_object_set_data(G_OBJECT(check), kKey, const_cast<char*>(spec.key));
  g_object_bind_property(
      config_, spec.key, check, "active",
      static_cast<GBindingFlags>(G_BINDING_BIDIRECTIONAL | G_BINDING_SYNC_CREATE));
  g_signal_connect(check, "toggled", G_CALLBACK(+[](GtkToggleButton* toggled, Controls* self) {
                     self->check_toggled(toggled);
                   }),
                   this);
  return check;
}

void Controls::check_toggled(GtkToggleButton* check) {
  const auto* key = static_cast<const char*>(g_object_get_data(G_OBJECT(check), kKey));
  const bool on = gtk_toggle_button_get_active(check) != FALSE;
  gboolean known = FALSE;
  g_object_get(config_, key, &known, nullptr);
  if (on != (known != FALSE)) clicked_(key, on);
}

GtkWidget* Controls::make_number(const ParamSpec& spec) {
  GtkWidget* spin = gimp_prop_spin_button_new(G_OBJECT(config_), spec.key, 1, 4, 0);
  if (spec.step > 2)
    gtk_spin_button_set_increments(GTK_SPIN_BUTTON(spin), spec.step, 4 * spec.step);
  gtk_spin_button_set_numeric(GTK_SPIN_BUTTON(spin), FALSE);  // "Automatic" is no number
  if (spec.member == ParamMember(&Params::memory)) {
    g_object_set_data(G_OBJECT(spin), kMebibytes, spin);
  }
  gtk_entry_set_width_chars(GTK_ENTRY(spin), 10);
  g_signal_connect(spin, "output", G_CALLBACK(show_automatic), nullptr);
  g_signal_connect(spin, "input", G_CALLBACK(read_automatic), nullptr);
  g_object_set_data(G_OBJECT(spin), "grainless-before",
                    GINT_TO_POINTER(gtk_spin_button_get_value_as_int(GTK_SPIN_BUTTON(spin))));
  g_signal_connect(spin, "value-changed", G_CALLBACK(skip_forbidden),
                   const_cast<ParamSpec*>(&spec));
  gtk_spin_button_update(GTK_SPIN_BUTTON(spin));
  return spin;
}

GtkWidget* Controls::make_device(const ParamSpec& spec) {
  GtkWidget* combo = gtk_combo_box_text_new();
  device_ = GTK_COMBO_BOX_TEXT(combo);
  shorten_names(GTK_COMBO_BOX(combo));
  set_devices({});
  g_object_bind_property(
      config_, spec.key, combo, "active-id",
      static_cast<GBindingFlags>(G_BINDING_BIDIRECTIONAL | G_BINDING_SYNC_CREATE));
  return combo;
}

void Controls::set_devices(const std::vector<DeviceChoice>& devices) {
  gchar* current = nullptr;
  g_object_get(config_, "device", &current, nullptr);
  std::vector<DeviceChoice> choices = {
      {"auto", _("Automatic")}, {"cpu", _("Processor (CPU)")}, {"cuda", _("Graphics card (CUDA)")}};
  choices.insert(choices.end(), devices.begin(), devices.end());
  const std::string chosen = current != nullptr ? current : "";
  g_free(current);
  // A value from saved settings stays selectable, whether its card is there or not.
  const auto same = [&](const DeviceChoice& choice) { return choice.id == chosen; };
  if (std::none_of(choices.begin(), choices.end(), same)) choices.push_back({chosen, chosen});
  GtkTreeModel* model = gtk_combo_box_get_model(GTK_COMBO_BOX(device_));
  for (const DeviceChoice& choice : choices) {
    bool listed = false;
    GtkTreeIter row;
    for (gboolean more = gtk_tree_model_get_iter_first(model, &row); more && !listed;
         more = gtk_tree_model_iter_next(model, &row)) {
      gchar* id = nullptr;
      gtk_tree_model_get(model, &row, gtk_combo_box_get_id_column(GTK_COMBO_BOX(device_)), &id, -1);
      listed = id != nullptr && choice.id == id;
      g_free(id);
    }
    if (!listed) gtk_combo_box_text_append(device_, choice.id.c_str(), choice.label.c_str());
  }
}

void Controls::update_sensitivity(const Params& params, bool has_colour) {
  for (const auto& [key, widgets] : widgets_) {
    const bool applies = param_applies(params, key) && (has_colour || key != "chroma");
    for (GtkWidget* widget : widgets) {
      gtk_widget_set_sensitive(widget, applies);
      // Themes draw a slider's number as black as ever.
      gtk_widget_set_opacity(widget, applies ? 1.0 : kFaint);
    }
  }
}

void Controls::show_instead(const std::string& key, std::optional<double> value) {
  const auto found = widgets_.find(key);
  if (found == widgets_.end()) return;
  GtkWidget* spin = found->second.front();
  // In tenths, so that it fits into a pointer; 0: none.
  const int tenths = value ? static_cast<int>(std::lround(*value * 10)) + 1 : 0;
  if (GPOINTER_TO_INT(g_object_get_data(G_OBJECT(spin), kInstead)) == tenths) return;
  g_object_set_data(G_OBJECT(spin), kInstead, GINT_TO_POINTER(tenths));
  // Only the text: GTK would read it back as a value.
  if (!show_value(GTK_SPIN_BUTTON(spin), nullptr)) show_number(GTK_SPIN_BUTTON(spin));
}

}  // namespace grainless::ui
