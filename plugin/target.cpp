// SPDX-License-Identifier: MIT
#include "target.h"

#include <glib/gi18n.h>

namespace grainless {
namespace {

std::string with_name(const char* sentence, GimpItem* item) {
  gchar* name = gimp_item_get_name(item);
  gchar* text = g_strdup_printf(sentence, name);
  const std::string result = text;
  g_free(text);
  g_free(name);
  return result;
}

// Vector and link layers exist from GIMP 3.2 on: asked for by name, so that a plug-in built against
// 3.0 knows them too.
bool is_of_type(GimpItem* item, const char* type_name) {
  const GType type = g_type_from_name(type_name);
  return type != 0 && g_type_is_a(G_OBJECT_TYPE(item), type);
}

// A layer mask shares the fate of its layer, and an item inside of a group that of the group.
bool is_locked(GimpItem* item) {
  if (gimp_item_is_layer_mask(item)) {
    GimpLayer* layer = gimp_layer_from_mask(GIMP_LAYER_MASK(item));
    if (layer != nullptr && is_locked(GIMP_ITEM(layer))) return true;
  }
  for (; item != nullptr; item = gimp_item_get_parent(item)) {
    if (gimp_item_get_lock_content(item)) return true;
  }
  return false;
}

}  // namespace

std::string refusal(GimpDrawable* drawable) {
  GimpItem* item = GIMP_ITEM(drawable);
  if (gimp_item_is_group(item)) {
    return with_name(_("“%s” is a layer group: select the layers inside of it instead."), item);
  }
  if (gimp_item_is_text_layer(item)) {
    return with_name(_("“%s” is a text layer, and denoising would turn its text into pixels: "
                       "rasterize it first."),
                     item);
  }
  if (is_of_type(item, "GimpVectorLayer") || is_of_type(item, "GimpLinkLayer")) {
    return with_name(_("“%s” is a vector or link layer without pixels of its own: rasterize it "
                       "first."),
                     item);
  }
  if (is_locked(item)) {
    return with_name(_("The pixels of “%s” are locked: unlock them first."), item);
  }
  if (gimp_drawable_is_indexed(drawable)) {
    return _(
        "Grainless can't work on indexed colours: convert the image to RGB or grayscale first "
        "(Image > Mode).");
  }
  return {};
}

}  // namespace grainless
