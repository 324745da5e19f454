// SPDX-License-Identifier: MIT
#include "config.h"

namespace grainless {
namespace {

void read_value(GimpProcedureConfig* config, const ParamSpec& spec, Params& params) {
  if (spec.type == ParamType::kChoice) {
    params.*std::get<int32_t Params::*>(spec.member) =
        gimp_procedure_config_get_choice_id(config, spec.key);
    return;
  }
  GValue value = G_VALUE_INIT;
  g_object_get_property(G_OBJECT(config), spec.key, &value);
  if (spec.type == ParamType::kBool) {
    params.*std::get<bool Params::*>(spec.member) = g_value_get_boolean(&value) != FALSE;
  } else if (spec.type == ParamType::kInt) {
    params.*std::get<int32_t Params::*>(spec.member) = g_value_get_int(&value);
  } else if (spec.type == ParamType::kDouble) {
    params.*std::get<double Params::*>(spec.member) = g_value_get_double(&value);
  } else {
    const gchar* text = g_value_get_string(&value);
    params.*std::get<std::string Params::*>(spec.member) = text != nullptr ? text : "";
  }
  g_value_unset(&value);
}

}  // namespace

Params params_from_config(GimpProcedureConfig* config, const Params& defaults) {
  Params params = defaults;
  for (const ParamSpec& spec : param_specs()) {
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(config), spec.key) != nullptr) {
      read_value(config, spec, params);
    }
  }
  return params;
}

}  // namespace grainless
