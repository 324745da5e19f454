// SPDX-License-Identifier: MIT
#include "json_report.h"

#include <cstdio>
#include <span>

#include "engine/boundary/status.h"

namespace grainless::tools {
namespace {

// "-" where there is no finite value.
std::string decimals(const std::optional<double>& value, int digits) {
  if (!value) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, *value);
  return text;
}

void add_seconds(JsonLine& line, const Outcome& outcome) {
  const Report& report = outcome.report;
  line.open("seconds", '{');
  line.add("read", outcome.read);
  line.add("estimate", report.estimate);
  line.add("upload", report.upload);
  line.add("kernels", report.kernels);
  line.add("download", report.download);
  line.add("write", outcome.write);
  line.add("total", total_seconds(outcome));
  line.close('}');
}

void add_quality(JsonLine& line, const Outcome& outcome) {
  if (outcome.metrics == Metrics::kNone) return;
  add_number_or_null(line, "psnr_before", outcome.before.psnr);
  add_number_or_null(line, "psnr_after", outcome.after.psnr);
  if (outcome.metrics != Metrics::kAll) return;
  add_number_or_null(line, "ssim_before", outcome.before.ssim);
  add_number_or_null(line, "ssim_after", outcome.after.ssim);
  add_number_or_null(line, "fsim_before", outcome.before.fsim);
  add_number_or_null(line, "fsim_after", outcome.after.fsim);
}

}  // namespace

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

void add_number_or_null(JsonLine& line, const char* name, const std::optional<double>& value) {
  if (value) {
    line.add(name, *value);
  } else {
    line.add(name, nullptr);
  }
}

void add_sigma(JsonLine& line, const NoiseModel& noise) {
  line.add_each("sigma", std::span(noise.sigma[0]).first(static_cast<size_t>(noise.channels)));
}

void add_tones(JsonLine& line, const NoiseModel& noise) {
  constexpr int32_t kTones = 9;
  if (noise.bend.enabled == 0) return;
  line.open("tones", '[');
  for (int32_t i = 0; i < kTones; ++i) {
    line.add(nullptr, sigma_at(noise, 0, 255.0f * static_cast<float>(i) / (kTones - 1)));
  }
  line.close(']');
}

void add_corners(JsonLine& line, const NoiseModel& noise) {
  if (noise.corners.enabled != 0) line.add("corners", in_corners(noise));
}

std::string corners_text(const NoiseModel& noise) {
  if (noise.corners.enabled == 0) return {};
  char text[64];
  std::snprintf(text, sizeof text, ", %.1f times as strong in the corners",
                static_cast<double>(in_corners(noise)));
  return text;
}

std::string quality_text(const Outcome& outcome) {
  const Quality &before = outcome.before, &after = outcome.after;
  std::string text;
  if (outcome.metrics != Metrics::kNone) {
    text += ", PSNR " + decimals(before.psnr, 2) + " -> " + decimals(after.psnr, 2) + " dB";
  }
  if (outcome.metrics == Metrics::kAll) {
    text += ", SSIM " + decimals(before.ssim, 4) + " -> " + decimals(after.ssim, 4) + ", FSIM " +
            decimals(before.fsim, 4) + " -> " + decimals(after.fsim, 4);
  }
  return text;
}

void add_outcome(JsonLine& line, const Outcome& outcome) {
  const Report& report = outcome.report;
  line.add("device", report.device);
  line.add_each("fallback", report.fallbacks);
  line.add("method", outcome.method);
  add_sigma(line, report.noise);
  if (outcome.estimated) line.add("confidence", confidence_id(report.noise.confidence));
  line.add("impulses", impulses_id(report.noise.impulses));
  add_tones(line, report.noise);
  add_corners(line, report.noise);
  add_seconds(line, outcome);
  line.add("tiles", report.tiles);
  line.add("peak_memory", report.peak_memory);
  add_quality(line, outcome);
  const std::string note = note_of(outcome);
  line.add("changed", report.changed);
  if (note.empty()) {
    line.add("note", nullptr);
  } else {
    line.add("note", note);
  }
}

void print_text(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::kBadInput, "the result can't be written to the standard output");
  }
}

void print_json(const JsonLine& line) {
  print_text(line.text() + "\n");
}

}  // namespace grainless::tools
