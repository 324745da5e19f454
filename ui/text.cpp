// SPDX-License-Identifier: MIT
#include "text.h"

#include <cstdarg>

namespace grainless::ui {

std::string format(const char* pattern, ...) {
  va_list values;
  va_start(values, pattern);
  gchar* text = g_strdup_vprintf(pattern, values);
  va_end(values);
  std::string result = text;
  g_free(text);
  return result;
}

}  // namespace grainless::ui
