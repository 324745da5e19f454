// SPDX-License-Identifier: MIT
#include "encoding.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace grainless {
namespace {

std::optional<Component> component_of(const Babl* native) {
  const Babl* type = babl_format_get_type(native, 0);
  if (type == babl_type("u8")) return Component::kU8;
  if (type == babl_type("u16")) return Component::kU16;
  if (type == babl_type("half")) return Component::kHalf;
  if (type == babl_type("float")) return Component::kFloat;
  return std::nullopt;
}

// Whether the format's values are the perceptual ones as they stand. Profiles write the sRGB curve
// in several ways (formula, tables of 1024 or 4096 points), so values are compared, to a quarter of
// an 8-bit step, and not names.
bool is_perceptual(const Babl* native, bool grey) {
  constexpr int kSteps = 256;
  const Babl* space = babl_format_get_space(native);
  const std::string_view encoding = babl_format_get_encoding(native);
  const bool linear =
      encoding.starts_with("RGB") || encoding.starts_with("Y ") || encoding.starts_with("YA ");
  if (encoding.find('~') != std::string_view::npos) return true;
  if (linear) return false;
  const Babl* from = babl_format_with_space(grey ? "Y' float" : "R'G'B' float", space);
  const Babl* to = babl_format_with_space(grey ? "Y~ float" : "R~G~B~ float", space);
  const int channels = grey ? 1 : 3;
  float values[kSteps * 3], converted[kSteps * 3];
  for (int i = 0; i < kSteps * channels; ++i) {
    values[i] = static_cast<float>(i / channels) / (kSteps - 1);
  }
  babl_process(babl_fish(from, to), values, converted, kSteps);
  for (int i = 0; i < kSteps * channels; ++i) {
    if (std::fabs(values[i] - converted[i]) > 0.25f / 255.0f) return false;
  }
  return true;
}

const char* float_encoding(int channels) {
  constexpr const char* kNames[] = {"Y~ float", "Y~A float", "R~G~B~ float", "R~G~B~A float"};
  return kNames[channels - 1];
}

// What a format's values are: "~" perceptual, "'" in the profile's curve, "" linear.
std::string curve_of(const Babl* native) {
  const std::string_view encoding = babl_format_get_encoding(native);
  if (encoding.find('~') != std::string_view::npos) return "~";
  return encoding.find('\'') != std::string_view::npos ? "'" : "";
}

// In the profile's curve half of white is half of the light.
bool has_linear_profile(const Babl* native) {
  constexpr float kHalf = 0.5f, kSame = 0.01f;
  const Babl* space = babl_format_get_space(native);
  float light = 0;
  babl_process(babl_fish(babl_format_with_space("Y' float", space),
                         babl_format_with_space("Y float", space)),
               &kHalf, &light, 1);
  return std::fabs(light - kHalf) < kSame;
}

const Babl* with_alpha(const Babl* native, const std::string& curve, const char* type) {
  std::string name = babl_format_get_n_components(native) < 3 ? "Y" + curve + "A " : "";
  if (name.empty()) name = "R" + curve + "G" + curve + "B" + curve + "A ";
  return babl_format_with_space((name + type).c_str(), babl_format_get_space(native));
}

void choose_preview(Encoding& encoding) {
  const std::string curve = curve_of(encoding.native);
  const bool eight = babl_format_get_type(encoding.native, 0) == babl_type("u8");
  if (eight && !curve.empty() && !(curve == "'" && has_linear_profile(encoding.native))) {
    encoding.preview = encoding.meant = with_alpha(encoding.native, curve, "u8");
  } else {
    encoding.preview = with_alpha(encoding.native, "~", "u8");
    encoding.meant = with_alpha(encoding.native, curve, "float");
  }
}

Encoding encoding_of_engine(const Babl* native) {
  const int channels = babl_format_get_n_components(native);
  const std::optional<Component> component = component_of(native);
  if (component && is_perceptual(native, channels < 3)) {
    return {.native = native, .engine = native, .format = {*component, channels}};
  }
  const Babl* engine =
      babl_format_with_space(float_encoding(channels), babl_format_get_space(native));
  return {.native = native, .engine = engine, .format = {Component::kFloat, channels}};
}

}  // namespace

Encoding encoding_for(const Babl* native) {
  Encoding encoding = encoding_of_engine(native);
  choose_preview(encoding);
  return encoding;
}

bool is_opaque_form(const Babl* format, const Babl* preview) {
  const int channels = babl_format_get_n_components(format);
  return channels % 2 == 1 && babl_format_get_bytes_per_pixel(format) == channels &&
         with_alpha(format, curve_of(format), "u8") == preview;
}

void restore_native(const Encoding& encoding, const void* originals, const void* source,
                    const void* result, void* target, long pixels) {
  babl_process(babl_fish(encoding.engine, encoding.native), result, target, pixels);
  const size_t native_bytes = encoding.native_bytes();
  const size_t engine_bytes = encoding.format.pixel_bytes();
  const size_t alpha_bytes =
      encoding.format.has_alpha() ? native_bytes / encoding.format.channels : 0;
  const auto* original = static_cast<const uint8_t*>(originals);
  const auto* before = static_cast<const uint8_t*>(source);
  const auto* after = static_cast<const uint8_t*>(result);
  auto* out = static_cast<uint8_t*>(target);
  for (long i = 0; i < pixels; ++i) {
    const bool untouched = std::memcmp(before, after, engine_bytes) == 0;
    const size_t kept = untouched ? native_bytes : alpha_bytes;
    std::memcpy(out + native_bytes - kept, original + native_bytes - kept, kept);
    original += native_bytes;
    out += native_bytes;
    before += engine_bytes;
    after += engine_bytes;
  }
}

}  // namespace grainless
