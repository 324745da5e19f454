// SPDX-License-Identifier: MIT
#include "estimate_command.h"

#include <cstdio>
#include <span>

#include "engine/denoise.h"
#include "engine/noise/impulses.h"
#include "engine_setup.h"
#include "json_report.h"
#include "progress_line.h"
#include "tools/image_io/encoding.h"
#include "tools/noise.h"

namespace grainless::tools {
namespace {

struct Estimated {
  NoiseModel noise;
  double seconds = 0;
};

Estimated estimate(Engine& engine, ThreadPool& pool, const std::string& input, const Params& params,
                   const EstimateOptions& options) {
  Estimated result;
  const Callbacks callbacks{&cancel_token(), {}};
  const uint64_t memory = uint64_t(options.host_memory) << 20;
  if (!options.noise_sigma) {
    if (const auto large = open_large(input, memory, callbacks.cancel)) {
      print_notes(large->notes);
      BandDenoiser bands(engine, params, *large->rows, large->encoding, pool, {memory});
      result.noise = bands.measure(callbacks, result.seconds);
      print_notes(large->rows->take_notes());
      return result;
    }
  }
  Image image = read_perceptual(input, pool, &cancel_token());
  print_notes(image.notes);
  if (options.noise_sigma) {
    if (image.format.component != Component::kFloat) {
      image = convert(image, Component::kFloat, input);
    }
    add_noise(image, *options.noise_sigma, options.seed);
  }
  throw_if_failed(engine.noise_for(params, image.view(), callbacks, result.noise, &result.seconds));
  return result;
}

std::string line_of(const std::string& input, const NoiseModel& noise) {
  std::string line = input + ": sigma";
  for (int32_t c = 0; c < noise.channels; ++c) {
    char text[64];
    std::snprintf(text, sizeof text, " %.2f", static_cast<double>(noise.sigma[0][c]));
    line += text;
  }
  line += ", " + confidence_text(noise.confidence) + corners_text(noise);
  const std::string impulses = impulses_text(noise.impulses);
  return line + (impulses.empty() ? "" : ", " + impulses) + "\n";
}

JsonLine json_of(const std::string& input, const Estimated& estimated) {
  const NoiseModel& noise = estimated.noise;
  JsonLine line;
  line.open(nullptr, '{');
  line.add("input", input);
  add_sigma(line, noise);
  line.add("confidence", confidence_id(noise.confidence));
  add_tones(line, noise);
  add_corners(line, noise);
  line.add_each("white", std::span(noise.white).first(static_cast<size_t>(noise.channels)));
  line.add("impulses", impulses_id(noise.impulses));
  line.add("seconds", estimated.seconds);
  line.close('}');
  return line;
}

}  // namespace

int run_estimate(const EstimateOptions& options) {
  check_noise(options.noise_sigma);
  Params params;
  throw_if_failed(set_param(params, "noise", options.kind));
  Engine engine(engine_options(options.threads));
  ThreadPool pool(options.threads);
  int code = 0;
  for (const std::string& input : options.inputs) {
    Estimated estimated;
    const Status status =
        guard([&] { estimated = estimate(engine, pool, input, params, options); });
    if (status.code() == ErrorCode::kCancelled) throw_if_failed(status);
    if (!status.ok()) {
      std::fprintf(stderr, "grainless: %s\n", one_line(status.message()).c_str());
      if (code == 0) code = exit_code(status.code());
      continue;
    }
    if (options.json) {
      print_json(json_of(input, estimated));
    } else {
      print_text(line_of(input, estimated.noise));
    }
  }
  return code;
}

}  // namespace grainless::tools
