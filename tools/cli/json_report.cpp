// SPDX-License-Identifier: MIT
#include "json_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/boundary/status.h"

namespace grainless::tools {

using nlohmann::ordered_json;

double total_seconds(const Outcome& outcome) {
  return outcome.read + outcome.report.estimate + outcome.denoise + outcome.write;
}

std::string note_of(const Outcome& outcome) {
  std::string note = outcome.report.note;
  if (const int64_t count = outcome.report.replaced_pixels; count > 0) {
    if (!note.empty()) note += "; ";
    note += std::to_string(count) + (count == 1 ? " pixel is" : " pixels are") +
            " not finite, or far beyond the rest of the picture, and stayed as they were";
  }
  return note;
}

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json sigma_json(const NoiseModel& noise) {
  ordered_json sigma = ordered_json::array();
  for (int32_t c = 0; c < noise.channels; ++c) sigma.push_back(noise.sigma[0][c]);
  return sigma;
}

ordered_json tones_json(const NoiseModel& noise) {
  constexpr int32_t kTones = 9;
  ordered_json tones = ordered_json::array();
  for (int32_t i = 0; i < kTones; ++i) {
    tones.push_back(sigma_at(noise, 0, 255.0f * static_cast<float>(i) / (kTones - 1)));
  }
  return tones;
}

ordered_json json_report(const Outcome& outcome) {
  const Report& report = outcome.report;
  ordered_json object;
  object["device"] = report.device;
  object["fallback"] = report.fallbacks;
  object["method"] = outcome.method;
  object["sigma"] = sigma_json(report.noise);
  if (outcome.estimated) object["confidence"] = confidence_id(report.noise.confidence);
  object["impulses"] = impulses_id(report.noise.impulses);
  if (report.noise.bend.enabled != 0) object["tones"] = tones_json(report.noise);
  object["seconds"] = {{"read", outcome.read},           {"estimate", report.estimate},
                       {"upload", report.upload},        {"kernels", report.kernels},
                       {"download", report.download},    {"write", outcome.write},
                       {"total", total_seconds(outcome)}};
  object["tiles"] = report.tiles;
  object["peak_memory"] = report.peak_memory;
  if (outcome.metrics != Metrics::kNone) {
    object["psnr_before"] = number_or_null(outcome.before.psnr);
    object["psnr_after"] = number_or_null(outcome.after.psnr);
  }
  if (outcome.metrics == Metrics::kAll) {
    object["ssim_before"] = number_or_null(outcome.before.ssim);
    object["ssim_after"] = number_or_null(outcome.after.ssim);
    object["fsim_before"] = number_or_null(outcome.before.fsim);
    object["fsim_after"] = number_or_null(outcome.after.fsim);
  }
  const std::string note = note_of(outcome);
  object["changed"] = report.changed;
  object["note"] = note.empty() ? ordered_json(nullptr) : ordered_json(note);
  return object;
}

void print_text(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::kBadInput, "the result can't be written to the standard output");
  }
}

void print_json(const ordered_json& object) {
  // File names need not be UTF-8; JSON must be.
  print_text(object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace grainless::tools
