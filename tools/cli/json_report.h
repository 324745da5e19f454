// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "denoise_command.h"
#include "engine/denoise.h"

namespace grainless::tools {

struct Quality {
  std::optional<double> psnr, ssim, fsim;
};

// One picture's way through the program. Seconds are wall time.
struct Outcome {
  Report report;
  std::string method;
  double read = 0, denoise = 0, write = 0;
  bool estimated = false;            // sigma was measured, not given
  Metrics metrics = Metrics::kNone;  // what before and after hold
  Quality before, after;
};

// Wall time of the work on the picture; measuring its quality is not part of it.
double total_seconds(const Outcome& outcome);

// The report's note and what else there is to say, as one text; empty when there is nothing.
std::string note_of(const Outcome& outcome);

// The object of --json. confidence stands in it only where sigma was measured; psnr_, ssim_ and
// fsim_ stand in it only where they were computed, and are null where they have no finite value:
// PSNR of identical pictures, SSIM of pictures smaller than its window.
nlohmann::ordered_json json_report(const Outcome& outcome);

// Writes one line to stdout. Throws Error(kBadInput) when stdout doesn't take it.
void print_json(const nlohmann::ordered_json& object);
void print_text(const std::string& text);

// A number a channel.
nlohmann::ordered_json sigma_json(const NoiseModel& noise);
// Luma's sigma at brightness 0, 32, ... 255, of noise that differs over brightness.
nlohmann::ordered_json tones_json(const NoiseModel& noise);
nlohmann::ordered_json number_or_null(const std::optional<double>& value);

}  // namespace grainless::tools
