// SPDX-License-Identifier: MIT
#include "glimpse.h"

#include <algorithm>
#include <string_view>

#include "checksum.h"

namespace grainless {
namespace {

constexpr int kLongestSide = 512;
// GIMP answers nobody else meanwhile: a fifth of a second of 8 bits, the first time.
constexpr int64_t kMostPixels = int64_t{1} << 26;

// GIMP takes the question for an error where it makes no such pictures.
bool are_made() {
  gchar* value = gimp_gimprc_query("layer-previews");
  const bool made = value != nullptr && std::string_view(value) == "yes";
  g_free(value);
  return made;
}

}  // namespace

bool has_effects(GimpDrawable* drawable) {
  GimpDrawableFilter** filters = gimp_drawable_get_filters(drawable);
  const bool any = std::any_of(
      filters, filters + gimp_core_object_array_get_length(reinterpret_cast<GObject**>(filters)),
      [](GimpDrawableFilter* filter) { return gimp_drawable_filter_get_visible(filter) != FALSE; });
  g_free(filters);
  return any;
}

std::optional<uint64_t> glimpse_of(GimpDrawable* drawable) {
  const int width = gimp_drawable_get_width(drawable), height = gimp_drawable_get_height(drawable);
  if (int64_t{width} * height > kMostPixels || !are_made()) return std::nullopt;
  if (has_effects(drawable)) return std::nullopt;  // they would be drawn
  const int side = std::min(kLongestSide, std::max(width, height));
  gint seen_width = 0, seen_height = 0, bytes = 0;
  GBytes* seen =
      gimp_drawable_get_thumbnail_data(drawable, side, side, &seen_width, &seen_height, &bytes);
  if (seen == nullptr) return std::nullopt;
  gsize size = 0;
  const void* data = g_bytes_get_data(seen, &size);
  const uint64_t sum = checksum(data, size);
  g_bytes_unref(seen);
  return sum;
}

}  // namespace grainless
