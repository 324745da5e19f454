// SPDX-License-Identifier: MIT
#include "layout.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace grainless::effect {
namespace {

constexpr std::array<std::string_view, 12> kModels = {
    "RGB", "RGBA", "R'G'B'", "R'G'B'A", "R~G~B~", "R~G~B~A", "Y", "YA", "Y'", "Y'A", "Y~", "Y~A"};
constexpr std::array<std::string_view, 6> kTypes = {"u8", "u16", "u32", "half", "float", "double"};

template <size_t kCount>
bool holds(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_usual(std::string_view encoding) {
  const size_t space = encoding.rfind(' ');
  return space != std::string_view::npos && holds(kModels, encoding.substr(0, space)) &&
         holds(kTypes, encoding.substr(space + 1));
}

}  // namespace

Encoding layout_for(const Babl* source) {
  if (source == nullptr) return encoding_for(babl_format("R~G~B~A float"));
  const std::string_view encoding = babl_format_get_encoding(source);
  if (is_usual(encoding)) return encoding_for(source);
  const bool grey = encoding.starts_with("Y") && babl_format_get_n_components(source) < 3;
  const Babl* space = babl_format_get_space(source);
  if (babl_space_is_cmyk(space) != 0) space = nullptr;
  return encoding_for(babl_format_with_space(grey ? "Y~A float" : "R~G~B~A float", space));
}

}  // namespace grainless::effect
