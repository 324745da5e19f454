// SPDX-License-Identifier: MIT
#include "layer_effects.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "run_support.h"
#include "ui/text.h"

namespace grainless {
namespace {

constexpr char kOperation[] = "grainless:denoise";

// GIMP hands an operation's choices over as their ids.
void set_value(GObject* config, const ParamSpec& spec, const Params& params) {
  if (spec.type == ParamType::kChoice) {
    g_object_set(config, spec.key, param_text(params, spec).c_str(), nullptr);
  } else if (spec.type == ParamType::kBool) {
    g_object_set(config, spec.key, gboolean{params.*std::get<bool Params::*>(spec.member)},
                 nullptr);
  } else if (spec.type == ParamType::kInt) {
    g_object_set(config, spec.key, params.*std::get<int32_t Params::*>(spec.member), nullptr);
  } else if (spec.type == ParamType::kDouble) {
    g_object_set(config, spec.key, params.*std::get<double Params::*>(spec.member), nullptr);
  } else {
    g_object_set(config, spec.key, (params.*std::get<std::string Params::*>(spec.member)).c_str(),
                 nullptr);
  }
}

size_t effects_on(GimpDrawable* layer) {
  GimpDrawableFilter** filters = gimp_drawable_get_filters(layer);
  const size_t count = gimp_core_object_array_get_length(reinterpret_cast<GObject**>(filters));
  g_free(filters);
  return count;
}

// Null: GIMP refused it.
GimpDrawableFilter* add_effect(GimpDrawable* layer, const Params& params) {
  const size_t before = effects_on(layer);
  GimpDrawableFilter* effect = gimp_drawable_filter_new(layer, kOperation, _("Grainless Denoise"));
  if (effect == nullptr) return nullptr;
  GObject* config = G_OBJECT(gimp_drawable_filter_get_config(effect));
  for (const ParamSpec& spec : param_specs()) {
    if (is_picture_param(spec)) set_value(config, spec, params);
  }
  gimp_drawable_append_filter(layer, effect);
  if (effects_on(layer) > before) return effect;
  gimp_drawable_filter_delete(effect);
  return nullptr;
}

Drawables selected_ones(const Drawables& layers) {
  Drawables selected;
  std::copy_if(layers.begin(), layers.end(), std::back_inserter(selected), [](GimpDrawable* layer) {
    gint x = 0, y = 0, width = 0, height = 0;
    return gimp_drawable_mask_intersect(layer, &x, &y, &width, &height) != FALSE;
  });
  return selected;
}

}  // namespace

std::string refusal_of_effect(const Drawables& drawables) {
  if (!gegl_has_operation(kOperation)) {
    return _("The effect (grainless:denoise) is not installed, so the layer stays as it is.");
  }
  for (GimpDrawable* drawable : drawables) {
    if (!GIMP_IS_LAYER(drawable)) {
      return ui::format(_("“%s” is not a layer: only layers can have effects."),
                        item_name(GIMP_ITEM(drawable)).c_str());
    }
  }
  return {};
}

std::string effect_on_channels_sentence() {
  return _(
      "The effect leaves the colours that are switched off in the Channels dialog alone only until "
      "they are switched on.");
}

bool wants_effect(GimpProcedureConfig* config) {
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(config), kEffectKey) == nullptr) return false;
  gboolean wanted = FALSE;
  g_object_get(config, kEffectKey, &wanted, nullptr);
  return wanted != FALSE;
}

Status add_effects(GimpImage* image, const Drawables& layers, const Params& params,
                   std::string& note) {
  std::string why = refusal_of_effect(layers);
  if (!why.empty()) return {ErrorCode::kBadInput, why};
  const Drawables selected = selected_ones(layers);
  const size_t missed = layers.size() - selected.size();
  if (missed > 0) note = nothing_selected_sentence(missed);
  if (!selected.empty() && !ActiveChannels(selected.front()).all()) {
    note += (note.empty() ? "" : "\n") + effect_on_channels_sentence();
  }
  const UndoGroup undo(image, selected.size() > 1);
  std::vector<GimpDrawableFilter*> added;
  for (GimpDrawable* layer : selected) {
    GimpDrawableFilter* effect = add_effect(layer, params);
    if (effect != nullptr) {
      added.push_back(effect);
      continue;
    }
    // All layers get it, or none.
    for (GimpDrawableFilter* one : added) gimp_drawable_filter_delete(one);
    return {ErrorCode::kBadInput, ui::format(_("GIMP refused to put the effect on “%s”."),
                                             item_name(GIMP_ITEM(layer)).c_str())};
  }
  return {};
}

}  // namespace grainless
