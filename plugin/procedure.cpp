// SPDX-License-Identifier: MIT
#include "procedure.h"

#include <glib/gi18n.h>

#include <filesystem>

#include "engine/params/params.h"
#include "layer_effects.h"
#include "module_dir.h"
#include "run.h"

namespace grainless {
namespace {

constexpr auto kArgumentFlags = static_cast<GParamFlags>(G_PARAM_READWRITE);

// A choice that can't be made there is left out: no Shapiro-Wilk in stacks.
GimpChoice* new_choice(const ParamSpec& spec, const Params& defaults) {
  GimpChoice* choice = gimp_choice_new();
  for (size_t i = 0; i < spec.choices.size(); ++i) {
    Params params = defaults;
    throw_if_failed(set_param(params, spec.key, spec.choices[i].id));
    if (!validate(params).ok()) continue;
    gimp_choice_add(choice, spec.choices[i].id, static_cast<gint>(i), _(spec.choices[i].label),
                    nullptr);
  }
  return choice;
}

// A stack's depth of 0 would be no stack.
gint smallest(const ParamSpec& spec) {
  return spec.group == ParamGroup::kStack ? 1 : static_cast<gint>(spec.minimum);
}

void add_argument(GimpProcedure* procedure, const ParamSpec& spec, const Params& defaults) {
  const char* label = _(spec.label);
  const char* tooltip = _(spec.tooltip);
  switch (spec.type) {
    case ParamType::kChoice:
      gimp_procedure_add_choice_argument(procedure, spec.key, label, tooltip,
                                         new_choice(spec, defaults),
                                         param_text(defaults, spec).c_str(), kArgumentFlags);
      return;
    case ParamType::kBool:
      gimp_procedure_add_boolean_argument(procedure, spec.key, label, tooltip,
                                          defaults.*std::get<bool Params::*>(spec.member),
                                          kArgumentFlags);
      return;
    case ParamType::kInt:
      gimp_procedure_add_int_argument(
          procedure, spec.key, label, tooltip, smallest(spec), static_cast<gint>(spec.maximum),
          defaults.*std::get<int32_t Params::*>(spec.member), kArgumentFlags);
      return;
    case ParamType::kDouble:
      gimp_procedure_add_double_argument(
          procedure, spec.key, label, tooltip, spec.minimum, spec.maximum,
          defaults.*std::get<double Params::*>(spec.member), kArgumentFlags);
      return;
    case ParamType::kString:
      gimp_procedure_add_string_argument(
          procedure, spec.key, label, tooltip,
          (defaults.*std::get<std::string Params::*>(spec.member)).c_str(), kArgumentFlags);
      return;
  }
}

// The icon lies beside the binary; GIMP reads the file when it shows the menu.
void set_icon(GimpProcedure* procedure) {
  const std::filesystem::path path = std::filesystem::path(module_dir()) / "grainless.svg";
  if (!std::filesystem::exists(path)) return;
  GFile* file = g_file_new_for_path(path.c_str());
  gimp_procedure_set_icon_file(procedure, file);
  g_object_unref(file);
}

GimpProcedure* create(GimpPlugIn* plug_in, const char* name, const char* label,
                      GimpRunImageFunc body) {
  GimpProcedure* procedure =
      gimp_image_procedure_new(plug_in, name, GIMP_PDB_PROC_TYPE_PLUGIN, body, nullptr, nullptr);
  gimp_procedure_set_image_types(procedure, "RGB*, GRAY*");
  gimp_procedure_set_sensitivity_mask(
      procedure, GIMP_PROCEDURE_SENSITIVE_DRAWABLE | GIMP_PROCEDURE_SENSITIVE_DRAWABLES);
  gimp_procedure_set_menu_label(procedure, label);
  gimp_procedure_add_menu_path(procedure, "<Image>/Filters/Enhance");
  set_icon(procedure);
  gimp_procedure_set_attribution(procedure, "The Grainless authors", "The Grainless authors, MIT",
                                 "2026");
  return procedure;
}

}  // namespace

GimpProcedure* create_denoise_procedure(GimpPlugIn* plug_in) {
  GimpProcedure* procedure =
      create(plug_in, kProcedureName, _("Grainless _Denoise…"), run_procedure);
  gimp_procedure_set_documentation(
      procedure, _("Take the noise out of a photograph and keep its detail"),
      _("Denoises layers, layer masks and channels with BM3D or Non-Local Means, on a graphics "
        "card "
        "or on the processor, with the same result. By default the strength of the noise is "
        "measured. The selection is respected, and transparency stays as it is."),
      kProcedureName);
  for (const ParamSpec& spec : param_specs()) {
    if (is_picture_param(spec)) add_argument(procedure, spec, Params());
  }
  gimp_procedure_add_boolean_argument(
      procedure, kEffectKey, _("As an ad_justable layer effect"),
      _("Put the filter on the layer as an effect, which can be changed later, hidden or taken off "
        "again in GIMP's list of layer effects, instead of changing the layer's pixels."),
      FALSE, kArgumentFlags);
  return procedure;
}

GimpProcedure* create_stack_procedure(GimpPlugIn* plug_in) {
  GimpProcedure* procedure = create(plug_in, kStackProcedureName,
                                    _("Grainless Denoise Layer _Stack…"), run_stack_procedure);
  gimp_procedure_set_documentation(
      procedure,
      _("Take the noise out of a burst, of animation frames or of other similar "
        "layers"),
      _("Denoises layers together: with BM3D each becomes the mean of those "
        "layers before and after it that show the same, less the noise that is "
        "left; Non-Local Means looks for similar pixels in them. It takes "
        "several selected layers, the layers of a selected group, or all layers "
        "beside the selected one; they need the same size and place. The lowest "
        "layer is the first. The selection is respected, and transparency stays "
        "as it is."),
      kStackProcedureName);
  for (const ParamSpec& spec : param_specs()) {
    if (is_stack_param(spec)) add_argument(procedure, spec, stack_defaults());
  }
  return procedure;
}

}  // namespace grainless
