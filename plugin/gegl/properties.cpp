// SPDX-License-Identifier: MIT
#include "properties.h"

#include <libintl.h>

#include <string>
#include <vector>

namespace grainless::effect {
namespace {

constexpr auto kFlags =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_CONSTRUCT | GEGL_PARAM_PAD_INPUT);

const ParamSpec* spec_of(guint number) {
  guint count = 0;
  for (const ParamSpec& spec : param_specs()) {
    if (is_picture_param(spec) && ++count == number) return &spec;
  }
  return nullptr;
}

const char* translated(const char* text) {
  return dgettext("grainless", text);
}

// GIMP's own dialog has mnemonics of its own. Languages without Latin letters have theirs at the
// end: "(_M)".
std::string label_of(const ParamSpec& spec) {
  std::string label = translated(spec.label);
  const size_t at = label.find('_');
  if (at == std::string::npos) return label;
  if (at > 0 && label[at - 1] == '(' && at + 2 < label.size() && label[at + 2] == ')') {
    return label.erase(at - 1, 4);
  }
  return label.erase(at, 1);
}

// Values and names live as long as the type: for ever.
GType choice_type(const ParamSpec& spec) {
  auto* values = g_new0(GEnumValue, spec.choices.size() + 1);
  for (size_t i = 0; i < spec.choices.size(); ++i) {
    values[i] = {static_cast<gint>(i), translated(spec.choices[i].label), spec.choices[i].id};
  }
  const std::string name = std::string("GrainlessEffect-") + spec.key;
  return g_enum_register_static(name.c_str(), values);
}

GParamSpec* number_property(const ParamSpec& spec, const char* label, const char* tooltip) {
  const Params defaults;
  const double step = spec.step > 0 ? spec.step : 1;
  if (spec.type == ParamType::kInt) {
    const auto low = static_cast<gint>(spec.minimum), high = static_cast<gint>(spec.maximum);
    GParamSpec* made = gegl_param_spec_int(spec.key, label, tooltip, low, high,
                                           defaults.*std::get<int32_t Params::*>(spec.member), low,
                                           high, 1, kFlags);
    gegl_param_spec_int_set_steps(GEGL_PARAM_SPEC_INT(made), static_cast<gint>(step),
                                  static_cast<gint>(step * 5));
    return made;
  }
  GParamSpec* made = gegl_param_spec_double(spec.key, label, tooltip, spec.minimum, spec.maximum,
                                            defaults.*std::get<double Params::*>(spec.member),
                                            spec.minimum, spec.maximum, 1, kFlags);
  gegl_param_spec_double_set_steps(GEGL_PARAM_SPEC_DOUBLE(made), step, step * 5);
  gegl_param_spec_double_set_digits(GEGL_PARAM_SPEC_DOUBLE(made), spec.digits);
  return made;
}

GParamSpec* property_of(const ParamSpec& spec) {
  const Params defaults;
  const std::string label = label_of(spec);
  const char* tooltip = translated(spec.tooltip);
  if (spec.type == ParamType::kChoice) {
    return gegl_param_spec_enum(spec.key, label.c_str(), tooltip, choice_type(spec),
                                defaults.*std::get<int32_t Params::*>(spec.member), kFlags);
  }
  if (spec.type == ParamType::kBool) {
    return g_param_spec_boolean(spec.key, label.c_str(), tooltip,
                                defaults.*std::get<bool Params::*>(spec.member), kFlags);
  }
  if (spec.type == ParamType::kString) {
    return gegl_param_spec_string(spec.key, label.c_str(), tooltip, FALSE, FALSE,
                                  (defaults.*std::get<std::string Params::*>(spec.member)).c_str(),
                                  kFlags);
  }
  return number_property(spec, label.c_str(), tooltip);
}

// The methods with which a parameter counts, for GIMP to grey it out with others; empty: with all.
std::string methods_of(const ParamSpec& spec) {
  const ParamSpec& method = *find_param("method");
  std::string ids;
  size_t count = 0;
  for (size_t i = 0; i < method.choices.size(); ++i) {
    Params params;
    params.method = static_cast<int32_t>(i);
    params.auto_sigma = std::string_view(spec.key) != "sigma";
    if (!param_applies(params, spec.key)) continue;
    ids += (ids.empty() ? "" : ", ") + std::string(method.choices[i].id);
    ++count;
  }
  return count == method.choices.size() ? std::string() : "method {" + ids + "}";
}

void set_sensitivity(GParamSpec* property, const ParamSpec& spec) {
  std::string when = methods_of(spec);
  if (std::string_view(spec.key) == "sigma") when = "! auto-sigma";
  if (std::string_view(spec.key) == "noise") when = "auto-sigma";
  if (!when.empty()) gegl_param_spec_set_property_key(property, "sensitive", when.c_str());
}

}  // namespace

void install_properties(GObjectClass* type) {
  for (guint number = 1; const ParamSpec* spec = spec_of(number); ++number) {
    GParamSpec* property = property_of(*spec);
    set_sensitivity(property, *spec);
    g_object_class_install_property(type, number, property);
  }
}

bool set_property(Params& params, guint number, const GValue* value) {
  const ParamSpec* spec = spec_of(number);
  if (spec == nullptr) return false;
  if (spec->type == ParamType::kChoice) {
    params.*std::get<int32_t Params::*>(spec->member) = g_value_get_enum(value);
  } else if (spec->type == ParamType::kBool) {
    params.*std::get<bool Params::*>(spec->member) = g_value_get_boolean(value) != FALSE;
  } else if (spec->type == ParamType::kInt) {
    params.*std::get<int32_t Params::*>(spec->member) = g_value_get_int(value);
  } else if (spec->type == ParamType::kDouble) {
    params.*std::get<double Params::*>(spec->member) = g_value_get_double(value);
  } else {
    const gchar* text = g_value_get_string(value);
    params.*std::get<std::string Params::*>(spec->member) = text != nullptr ? text : "";
  }
  return true;
}

bool get_property(const Params& params, guint number, GValue* value) {
  const ParamSpec* spec = spec_of(number);
  if (spec == nullptr) return false;
  if (spec->type == ParamType::kChoice) {
    g_value_set_enum(value, params.*std::get<int32_t Params::*>(spec->member));
  } else if (spec->type == ParamType::kBool) {
    g_value_set_boolean(value, params.*std::get<bool Params::*>(spec->member));
  } else if (spec->type == ParamType::kInt) {
    g_value_set_int(value, params.*std::get<int32_t Params::*>(spec->member));
  } else if (spec->type == ParamType::kDouble) {
    g_value_set_double(value, params.*std::get<double Params::*>(spec->member));
  } else {
    g_value_set_string(value, (params.*std::get<std::string Params::*>(spec->member)).c_str());
  }
  return true;
}

}  // namespace grainless::effect
