// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "denoise_command.h"
#include "engine/denoise.h"
#include "engine/json_line.h"

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

// The members of --json's object, into `line`. confidence stands among them only where sigma was
// measured; psnr_, ssim_ and fsim_ stand among them only where they were computed, and are null
// where they have no finite value: PSNR of identical pictures, SSIM of pictures smaller than its
// window.
void add_outcome(JsonLine& line, const Outcome& outcome);
// "sigma": a number for each channel.
void add_sigma(JsonLine& line, const NoiseModel& noise);
// "tones", where noise differs over brightness: luma's sigma at brightness 0, 32, ... 255.
void add_tones(JsonLine& line, const NoiseModel& noise);
// "corners", where noise differs there: how many times as strong as in the middle.
void add_corners(JsonLine& line, const NoiseModel& noise);
// Says the same to people, after a comma.
std::string corners_text(const NoiseModel& noise);
// Says what was measured against the clean picture to people, each after a comma.
std::string quality_text(const Outcome& outcome);
void add_number_or_null(JsonLine& line, const char* name, const std::optional<double>& value);

// Writes one line to stdout. Both throw Error(kBadInput) when stdout doesn't take it.
void print_json(const JsonLine& line);
void print_text(const std::string& text);

}  // namespace grainless::tools
