// SPDX-License-Identifier: MIT
#include "picture_colours.h"

namespace grainless {
namespace {

template <typename Object>
std::shared_ptr<Object> owned(Object* object) {
  if (object == nullptr) return nullptr;
  return {object, [](Object* done) { g_object_unref(done); }};
}

}  // namespace

ui::PictureColours picture_colours(GimpDrawable* drawable, const Encoding& encoding) {
  GimpImage* image = gimp_item_get_image(GIMP_ITEM(drawable));
  ui::PictureColours colours{
      .config = owned(gimp_get_color_configuration()),
      .profile = owned(gimp_image_get_effective_color_profile(image)),
      .proof = owned(gimp_image_get_simulation_profile(image)),
      .proof_intent = static_cast<int>(gimp_image_get_simulation_intent(image)),
      .proof_bpc = gimp_image_get_simulation_bpc(image) != FALSE,
      .kept = encoding.preview,
      .meant = encoding.meant};
  if (!gimp_item_is_layer(GIMP_ITEM(drawable))) {
    // The greys of a layer mask or a channel are none of the image's colours.
    colours.profile = owned(gimp_color_profile_new_d65_gray_srgb_trc());
    colours.meant = babl_format("Y'A float");
  }
  return colours;
}

}  // namespace grainless
