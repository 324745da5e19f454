// SPDX-License-Identifier: MIT
#include "status_text.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <cmath>

#include "text.h"

namespace grainless::ui {
namespace {

constexpr char kNobody[] = "none";  // the device of a run that changes nothing
constexpr double kShort = 0.1;      // seconds: less is told in milliseconds

std::string first_line(const PreviewModel& model, double loaded) {
  const PreviewInfo* info = model.info();
  if (info == nullptr) {
    if (!model.busy()) return {};
    return loaded < 1 ? _("Reading the layer…") : _("Computing the preview…");
  }
  if (info->device == kNobody || info->device.empty()) return {};
  const char* device = info->device.c_str();
  if (!model.busy() && info->seconds < kShort) {
    return format(_("Preview by %s in %.0f ms"), device, std::max(1.0, info->seconds * 1000));
  }
  if (!model.busy()) return format(_("Preview by %s in %.2f s"), device, info->seconds);
  if (model.coarse()) {
    return format(_("Coarse preview by %s in %.2f s; the exact one is being computed…"), device,
                  info->seconds);
  }
  const int percent = static_cast<int>(std::floor(model.progress() * 100));
  if (model.has_coarse()) return format(_("Coarse preview, %d %% of it exact…"), percent);
  return format(_("Computing the preview… %d %%"), percent);
}

}  // namespace

std::string capitalized(const std::string& sentence) {
  if (sentence.empty()) return sentence;
  const char* rest = g_utf8_next_char(sentence.c_str());
  gchar first[6];
  const gint bytes = g_unichar_to_utf8(g_unichar_toupper(g_utf8_get_char(sentence.c_str())), first);
  return std::string(first, static_cast<size_t>(bytes)) + rest;
}

std::string noise_text(const std::vector<double>& sigma, const NoiseConfidence& confidence,
                       double corners, const std::string& impulses) {
  if (sigma.empty()) return {};
  std::string text = sigma.size() < 3
                         ? format(_("Measured noise: %.1f"), sigma[0])
                         : format(_("Measured noise: %.1f in lightness, %.1f and %.1f in colour"),
                                  sigma[0], sigma[1], sigma[2]);
  if (!confidence.words.empty()) text += " (" + confidence.words + ")";
  if (confidence.unsure) text += std::string("\n") + _("Measure a flat part to be sure.");
  if (corners != 1) {
    text += "\n" + format(_("In the corners: %.1f times that of the middle."), corners);
  }
  if (!impulses.empty()) text += "\n" + format(_("Found and replaced: %s."), impulses.c_str());
  return text;
}

std::string area_text(const std::vector<double>& sigma) {
  if (sigma.empty()) return {};
  if (sigma.size() < 3) return format(_("Noise there: %.1f"), sigma[0]);
  return format(_("Noise there: %.1f in lightness, %.1f and %.1f in colour"), sigma[0], sigma[1],
                sigma[2]);
}

std::string fallback_text(const PreviewModel& model) {
  std::string text;
  if (model.info() == nullptr) return text;
  for (const std::string& line : model.info()->fallbacks) {
    text += (text.empty() ? "" : "\n") + capitalized(line);
  }
  return text;
}

std::string device_text(const PreviewModel& model, double loaded, const std::string& told) {
  std::string text = first_line(model, loaded);
  const std::string note = model.info() != nullptr ? capitalized(model.info()->note) : "";
  const std::string fallback = fallback_text(model);
  for (const std::string& line : {note, fallback != told ? fallback : std::string()}) {
    if (!line.empty()) text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

}  // namespace grainless::ui
