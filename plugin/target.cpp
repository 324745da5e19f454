// SPDX-License-Identifier: MIT
#include "target.h"

#include <dlfcn.h>
#include <glib/gi18n.h>

#include <algorithm>

#include "checksum.h"
#include "ui/text.h"

namespace grainless {
namespace {

constexpr int32_t kMaskRows = 256;  // of the selection, looked at in one piece

std::string with_name(const char* sentence, GimpItem* item) {
  return ui::format(sentence, item_name(item).c_str());
}

// Vector and link layers exist from GIMP 3.2 on: asked for by name, so that a plug-in built against
// 3.0 knows them too.
bool is_of_type(GimpItem* item, const char* type_name) {
  const GType type = g_type_from_name(type_name);
  return type != 0 && g_type_is_a(G_OBJECT_TYPE(item), type);
}

// From GIMP 3.2 on, text, vector and link layers that became pixels keep their type. Only that GIMP
// can be asked.
bool is_rasterized(GimpItem* item) {
  using Ask = gboolean (*)(GimpItem*);
  static const auto ask =
      reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "gimp_rasterizable_is_rasterized"));
  return ask != nullptr && is_of_type(item, "GimpRasterizable") && ask(item) != FALSE;
}

// Of a layer that GIMP draws from something else, and would draw anew.
std::string drawn_refusal(GimpItem* item) {
  if (is_rasterized(item)) return {};
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
  return {};
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

std::string pixels_refusal(GimpItem* item) {
  if (gimp_item_is_group(item)) {
    return with_name(_("“%s” is a layer group: select the layers inside of it instead."), item);
  }
  return drawn_refusal(item);
}

std::string refusal(GimpDrawable* drawable, Use use) {
  GimpItem* item = GIMP_ITEM(drawable);
  if (use == Use::kPixels) {
    if (const std::string why = pixels_refusal(item); !why.empty()) return why;
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

// The selection's values in rect, which is in the image's coordinates.
uint64_t mask_checksum(GimpDrawable* mask, const Rect& rect) {
  GeglBuffer* buffer = gimp_drawable_get_buffer(mask);
  const Babl* format = gimp_drawable_get_format(mask);
  const auto row = static_cast<size_t>(babl_format_get_bytes_per_pixel(format)) * rect.width;
  std::vector<uint8_t> values(row * std::min(kMaskRows, rect.height));
  std::vector<uint64_t> sums;
  for (int32_t y = rect.y; y < rect.bottom(); y += kMaskRows) {
    const GeglRectangle band{rect.x, y, rect.width, std::min(kMaskRows, rect.bottom() - y)};
    gegl_buffer_get(buffer, &band, 1.0, format, values.data(), static_cast<gint>(row),
                    GEGL_ABYSS_NONE);
    sums.push_back(checksum(values.data(), row * band.height));
  }
  g_object_unref(buffer);
  return checksum(sums.data(), sums.size() * sizeof(uint64_t));
}

}  // namespace

std::string item_name(GimpItem* item) {
  gchar* name = gimp_item_get_name(item);
  const std::string text = name != nullptr ? name : "";
  g_free(name);
  return text;
}

bool is_seen(GimpDrawable* drawable) {
  for (GimpItem* item = GIMP_ITEM(drawable); item != nullptr; item = gimp_item_get_parent(item)) {
    if (!gimp_item_get_visible(item)) return false;
  }
  return true;
}

std::string refusal(GimpImage* image, const Drawables& drawables, Use use) {
  if (!gimp_image_is_valid(image)) {
    return _("The image was closed while the filter was open: nothing was changed.");
  }
  for (GimpDrawable* drawable : drawables) {
    if (!gimp_item_is_valid(GIMP_ITEM(drawable))) {
      return gone_sentence();
    }
    if (const std::string why = refusal(drawable, use); !why.empty()) return why;
  }
  return {};
}

Placement placement_of(GimpDrawable* drawable) {
  Placement placement;
  gimp_drawable_get_offsets(drawable, &placement.x, &placement.y);
  placement.width = gimp_drawable_get_width(drawable);
  placement.height = gimp_drawable_get_height(drawable);
  placement.format = gimp_drawable_get_format(drawable);
  return placement;
}

StartState::StartState(GimpDrawable* drawable)
    : drawable_(drawable),
      placement_(placement_of(drawable)),
      selection_(selection_of(drawable, placement_)),
      channels_(drawable) {}

StartState::Selection StartState::selection_of(GimpDrawable* drawable, const Placement& placement) {
  Selection selection;
  Rect& rect = selection.rect;
  if (!gimp_drawable_mask_intersect(drawable, &rect.x, &rect.y, &rect.width, &rect.height)) {
    rect = {};
  }
  GimpSelection* mask = gimp_image_get_selection(gimp_item_get_image(GIMP_ITEM(drawable)));
  selection.none = gimp_selection_is_empty(gimp_item_get_image(GIMP_ITEM(drawable))) != FALSE;
  if (!selection.none && !rect.empty()) {
    const Rect in_image{rect.x + placement.x, rect.y + placement.y, rect.width, rect.height};
    selection.mask = mask_checksum(GIMP_DRAWABLE(mask), in_image);
  }
  return selection;
}

std::string StartState::difference() const {
  const Placement now = placement_of(drawable_);
  if (!now.same_place(placement_)) return moved_sentence(drawable_);
  if (now.format != placement_.format) return reformatted_sentence();
  if (selection_of(drawable_, now) != selection_) {
    return _(
        "The selection changed while the filter worked, so nothing was denoised: start it "
        "again.");
  }
  if (ActiveChannels(drawable_) != channels_) {
    return _(
        "Channels were switched on or off while the filter worked, so nothing was denoised: start "
        "it again.");
  }
  return {};
}

std::string no_channel_sentence() {
  return _("All colours are switched off in the Channels dialog, so the layer stays as it is.");
}

std::string nothing_selected_sentence(size_t layers) {
  return layers > 1 ? _("Nothing is selected on these layers, so they stay as they are.")
                    : _("Nothing is selected on this layer, so it stays as it is.");
}

std::string gone_sentence() {
  return _("A layer was deleted while the filter was open: nothing was changed.");
}

std::string reformatted_sentence() {
  return _(
      "The mode, precision or profile of the image changed while the filter worked, so "
      "nothing was denoised: start it again.");
}

std::string moved_sentence(GimpDrawable* drawable) {
  return with_name(_("“%s” was resized or moved while the filter worked, so nothing was denoised: "
                     "start it again."),
                   GIMP_ITEM(drawable));
}

std::string not_taken_sentence() {
  return _("GIMP did not take the new pixels; nothing was changed.");
}

std::string repainted_sentence(GimpDrawable* drawable) {
  return with_name(_("The pixels of “%s” changed while the filter worked, so nothing was denoised: "
                     "start it again."),
                   GIMP_ITEM(drawable));
}

std::string crossed_sentence(GimpDrawable* drawable) {
  return with_name(_("Another filter worked on “%s” at the same time, so nothing was denoised: "
                     "start it again."),
                   GIMP_ITEM(drawable));
}

}  // namespace grainless
