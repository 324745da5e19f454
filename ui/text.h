// SPDX-License-Identifier: MIT
#pragma once

#include <glib.h>

#include <string>

namespace grainless::ui {

// A translated pattern of printf with its values.
template <typename... Values>
std::string format(const char* pattern, Values... values) {
  gchar* text = g_strdup_printf(pattern, values...);
  std::string result = text;
  g_free(text);
  return result;
}

}  // namespace grainless::ui
