// SPDX-License-Identifier: MIT
#include "status_text.h"

#include <glib.h>
#include <glib/gi18n.h>

namespace grainless::ui {
namespace {

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  gchar* text = g_strdup_printf(pattern, values...);
  const std::string result = text;
  g_free(text);
  return result;
}

}  // namespace

std::string noise_text(const PreviewResult& result) {
  if (!result.note.empty()) return result.note;
  const auto& sigma = result.sigma;
  if (!result.measured || sigma.empty()) return {};
  if (sigma.size() < 3) return format(_("Measured noise: %.1f"), sigma[0]);
  return format(_("Measured noise: %.1f in lightness, %.1f and %.1f in colour"), sigma[0], sigma[1],
                sigma[2]);
}

std::string device_text(const PreviewResult& result) {
  std::string text = format(_("Preview by %s in %.2f s"), result.device.c_str(), result.seconds);
  for (const std::string& reason : result.fallbacks) text += "\n" + reason;
  return text;
}

}  // namespace grainless::ui
