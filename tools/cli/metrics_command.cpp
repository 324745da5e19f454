// SPDX-License-Identifier: MIT
#include "metrics_command.h"

#include <cstdio>

#include "engine_setup.h"
#include "json_report.h"
#include "progress_line.h"
#include "tools/image_io/encoding.h"
#include "tools/metrics/fsim.h"
#include "tools/metrics/metrics.h"

namespace grainless::tools {
namespace {

std::string line(const char* name, const std::optional<double>& value, int digits, const char* unit,
                 const char* otherwise) {
  char text[128];
  if (value) {
    std::snprintf(text, sizeof text, "%s %.*f%s\n", name, digits, *value, unit);
  } else {
    std::snprintf(text, sizeof text, "%s %s\n", name, otherwise);
  }
  return text;
}

}  // namespace

void run_metrics(const std::string& a, const std::string& b, bool json) {
  ThreadPool pool(0);
  const Image first = read_perceptual(a, pool, &cancel_token());
  const Image second = read_perceptual(b, pool, &cancel_token());
  print_notes(first.notes);
  print_notes(second.notes);
  check_comparable(first.view(), second.view(), a, b);
  const std::optional<double> ratio = psnr(first.view(), second.view());
  const std::optional<double> similarity = ssim(first.view(), second.view());
  const std::optional<double> features = Fsim(first.view()).of(second.view());
  if (json) {
    JsonLine object;
    object.open(nullptr, '{');
    add_number_or_null(object, "psnr", ratio);
    add_number_or_null(object, "ssim", similarity);
    add_number_or_null(object, "fsim", features);
    object.close('}');
    return print_json(object);
  }
  print_text(
      line("PSNR", ratio, 4, " dB", "has no finite value (identical, or not finite)") +
      line("SSIM", similarity, 6, "", "has no value (a side under 11 pixels, or not finite)") +
      line("FSIM", features, 6, "", "has no value (not finite)"));
}

}  // namespace grainless::tools
