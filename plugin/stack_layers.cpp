// SPDX-License-Identifier: MIT
#include "stack_layers.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <iterator>

#include "ui/text.h"

namespace grainless {
namespace {

// From the bottom up. parent: a group, or null for the image.
Drawables children(GimpImage* image, GimpItem* parent) {
  GimpItem** items = nullptr;
  GimpLayer** layers = nullptr;
  Drawables found;
  if (parent != nullptr) {
    items = gimp_item_get_children(parent);
    for (size_t i = 0; items != nullptr && items[i] != nullptr; ++i) {
      found.push_back(GIMP_DRAWABLE(items[i]));
    }
  } else {
    layers = gimp_image_get_layers(image);
    for (size_t i = 0; layers != nullptr && layers[i] != nullptr; ++i) {
      found.push_back(GIMP_DRAWABLE(layers[i]));
    }
  }
  g_free(items);
  g_free(layers);
  std::reverse(found.begin(), found.end());
  return found;
}

// Those of `chosen` that lie below parent, from the bottom up.
void collect(GimpImage* image, GimpItem* parent, const Drawables& chosen, Drawables& found) {
  for (GimpDrawable* child : children(image, parent)) {
    if (gimp_item_is_group(GIMP_ITEM(child))) collect(image, GIMP_ITEM(child), chosen, found);
    if (std::find(chosen.begin(), chosen.end(), child) != chosen.end()) found.push_back(child);
  }
}

bool is_channel_of(GimpImage* image, GimpDrawable* drawable) {
  if (GIMP_IS_SELECTION(drawable)) return true;
  GimpChannel** channels = gimp_image_get_channels(image);
  bool found = false;
  for (size_t i = 0; channels != nullptr && channels[i] != nullptr; ++i) {
    found = found || GIMP_DRAWABLE(channels[i]) == drawable;
  }
  g_free(channels);
  return found;
}

bool is_in(GimpImage* image, GimpDrawable* drawable) {
  if (gimp_item_get_image(GIMP_ITEM(drawable)) != image) return false;
  if (GIMP_IS_LAYER_MASK(drawable)) {
    GimpLayer* layer = gimp_layer_from_mask(GIMP_LAYER_MASK(drawable));
    return layer != nullptr && is_in(image, GIMP_DRAWABLE(layer));
  }
  if (!GIMP_IS_LAYER(drawable)) return is_channel_of(image, drawable);
  Drawables found;
  collect(image, nullptr, {drawable}, found);
  return !found.empty();
}

std::string sentence_on(size_t layers, bool selected, GimpItem* group) {
  const int count = static_cast<int>(layers);
  if (selected) {
    return ui::format(ngettext("The %d selected layer is denoised.",
                               "The %d selected layers are denoised together.", layers),
                      count);
  }
  if (group == nullptr) {
    return ui::format(ngettext("The %d layer of the image is denoised.",
                               "All %d layers of the image are denoised together.", layers),
                      count);
  }
  return ui::format(ngettext("The %d layer in the group “%s” is denoised.",
                             "The %d layers in the group “%s” are denoised together.", layers),
                    count, item_name(group).c_str());
}

}  // namespace

std::string stack_refusal(GimpImage* image, const Drawables& layers) {
  if (const std::string why = refusal(image, layers); !why.empty()) return why;
  const Placement first = placement_of(layers.front());
  for (GimpDrawable* layer : layers) {
    const Placement placement = placement_of(layer);
    if (!placement.same_place(first)) {
      return ui::format(_("“%s” and “%s” differ in size or place: the layers of a stack need the "
                          "same (Layer > Layers to Image Size)."),
                        item_name(GIMP_ITEM(layers.front())).c_str(),
                        item_name(GIMP_ITEM(layer)).c_str());
    }
    if (placement.format != first.format) {
      return ui::format(_("Only one of “%s” and “%s” has transparency: add an alpha channel to the "
                          "other one (Layer > Transparency)."),
                        item_name(GIMP_ITEM(layers.front())).c_str(),
                        item_name(GIMP_ITEM(layer)).c_str());
    }
  }
  Drawables in_order;
  collect(image, nullptr, layers, in_order);
  if (in_order != layers) {
    return _("The order of the layers changed while the filter was open: nothing was changed.");
  }
  return {};
}

Drawables each_once(const Drawables& drawables) {
  Drawables once;
  for (GimpDrawable* drawable : drawables) {
    if (std::find(once.begin(), once.end(), drawable) == once.end()) once.push_back(drawable);
  }
  return once;
}

std::string stranger_refusal(GimpImage* image, const Drawables& drawables) {
  // Most are layers of the image, and one walk finds all of those.
  Drawables layers;
  collect(image, nullptr, drawables, layers);
  for (GimpDrawable* drawable : drawables) {
    if (std::find(layers.begin(), layers.end(), drawable) != layers.end()) continue;
    if (!gimp_item_is_valid(GIMP_ITEM(drawable))) return gone_sentence();
    if (is_in(image, drawable)) continue;
    return ui::format(_("“%s” is not in this image, so nothing was denoised."),
                      item_name(GIMP_ITEM(drawable)).c_str());
  }
  return {};
}

Drawables from_the_bottom(GimpImage* image, const Drawables& drawables) {
  Drawables ordered;
  collect(image, nullptr, drawables, ordered);
  std::copy_if(drawables.begin(), drawables.end(), std::back_inserter(ordered),
               [](GimpDrawable* one) { return !gimp_item_is_layer(GIMP_ITEM(one)); });
  return ordered;
}

StackLayers stack_layers(GimpImage* image, const Drawables& chosen) {
  StackLayers stack;
  for (GimpDrawable* drawable : chosen) {
    if (!gimp_item_is_layer(GIMP_ITEM(drawable))) {
      stack.refusal = _("A stack is made of layers, not of layer masks or channels.");
      return stack;
    }
  }
  GimpItem* group = nullptr;
  if (chosen.size() > 1) {
    collect(image, nullptr, chosen, stack.layers);
  } else if (chosen.size() == 1) {
    GimpItem* item = GIMP_ITEM(chosen.front());
    group = gimp_item_is_group(item) ? item : gimp_item_get_parent(item);
    stack.layers = children(image, group);
  }
  const auto chosen_one =
      std::find_first_of(stack.layers.begin(), stack.layers.end(), chosen.begin(), chosen.end());
  // Of a group, one with others on either side.
  stack.chosen =
      static_cast<int32_t>(chosen_one != stack.layers.end() ? chosen_one - stack.layers.begin()
                                                            : stack.layers.size() / 2);
  stack.what = sentence_on(stack.layers.size(), chosen.size() > 1, group);
  if (stack.layers.size() < 2) {
    stack.refusal =
        _("A stack needs at least two layers: open the pictures as layers of one image "
          "first (File > Open as Layers).");
  } else {
    stack.refusal = stack_refusal(image, stack.layers);
  }
  return stack;
}

}  // namespace grainless
