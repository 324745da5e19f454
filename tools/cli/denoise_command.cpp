// SPDX-License-Identifier: MIT
#include "denoise_command.h"

#include <cstdio>
#include <set>

#include "batch.h"
#include "engine_setup.h"
#include "file_denoiser.h"
#include "inputs.h"
#include "json_report.h"
#include "outputs.h"
#include "preset_option.h"
#include "progress_line.h"
#include "tools/noise.h"
#include "volume_command.h"

namespace grainless::tools {
namespace {

std::string decimals(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string summary(const Job& job, const Outcome& outcome) {
  const Report& report = outcome.report;
  std::string text = job.input + " -> " + job.output + ": " + report.device;
  if (!report.device_description.empty()) text += " (" + report.device_description + ")";
  text += ", " + outcome.method + ", sigma";
  for (int32_t c = 0; c < report.noise.channels; ++c) {
    text += " " + decimals(double(report.noise.sigma[0][c]), 2);
  }
  if (outcome.estimated) text += " (" + confidence_text(report.noise.confidence) + ")";
  text += corners_text(report.noise) + ", " + decimals(total_seconds(outcome), 2) + " s";
  return text + quality_text(outcome);
}

// `said` holds the fall-backs that earlier pictures of the batch had too.
void report(const DenoiseOptions& options, const Job& job, const Outcome& outcome,
            std::set<std::string>& said, ProgressLine& progress) {
  for (const std::string& sentence : outcome.report.fallbacks) {
    if (said.insert(sentence).second) progress.say(sentence);
  }
  const std::string note = note_of(outcome);
  if (!note.empty()) progress.say("note: '" + job.input + "': " + note);
  progress.say(summary(job, outcome));
  if (!options.json) return;
  JsonLine line;
  line.open(nullptr, '{');
  add_outcome(line, outcome);
  if (options.inputs.size() > 1) {
    line.add("input", job.input);
    line.add("output", job.output);
  }
  line.close('}');
  progress.clear();
  print_json(line);
}

// The pictures of this run, all of the batch's names checked.
std::vector<Job> plan_jobs(const DenoiseOptions& options, size_t& up_to_date) {
  const std::vector<Job> all = plan_outputs(options.inputs, options.output, options.reference);
  const std::vector<Job> part = part_of(all, parse_part(options.part));
  if (!options.resume) return part;
  std::vector<std::string> settings;
  if (!options.preset.empty()) settings.push_back(preset_file(options.preset));
  std::vector<Job> jobs = unfinished(part, settings);
  up_to_date = part.size() - jobs.size();
  return jobs;
}

void say_result(Batch& batch, size_t up_to_date, ProgressLine& progress) {
  BatchResult result = batch.result();
  result.skipped = up_to_date;
  for (const std::string& line : result_lines(result)) progress.say(line);
}

int run_batch(const DenoiseOptions& options, const Params& params, ProgressLine& progress) {
  size_t up_to_date = 0;
  const std::vector<Job> jobs = plan_jobs(options, up_to_date);
  Engine engine(engine_options(options.threads));
  engine.prepare(params);
  const FileDenoiser denoiser(engine, options, params, progress);
  std::set<std::string> said;
  const Batch::Report tell = [&](const Job& job, const Outcome& outcome) {
    report(options, job, outcome, said, progress);
  };
  // A single picture's own line says it all.
  const bool alone = options.inputs.size() < 2 && !jobs.empty();
  Batch batch(denoiser, jobs, progress, tell, static_cast<size_t>(options.used_jobs()));
  try {
    const int code = batch.run();
    if (!alone) say_result(batch, up_to_date, progress);
    return code;
  } catch (const Error&) {  // cancelled
    if (!alone) say_result(batch, up_to_date, progress);
    throw;
  }
}

void check_inputs(const DenoiseOptions& options, const Params& params) {
  if (options.inputs.empty()) {
    throw Error(ErrorCode::kBadParameter, "INPUT is required, or --list with pictures in it");
  }
  if (!options.reference.empty() && options.inputs.size() > 1) {
    throw Error(ErrorCode::kBadParameter, "--reference takes a single input");
  }
  if (params.depth > 0 && (options.resume || !options.part.empty())) {
    throw Error(ErrorCode::kBadParameter,
                "--resume and --part choose single pictures, and --depth makes one volume of all");
  }
}

}  // namespace

std::vector<std::string> unused_options(const DenoiseOptions& options, const Params& params) {
  const bool measured = options.noise_sigma || !options.reference.empty();
  const bool volume = params.depth > 0;
  std::vector<std::string> sentences = unused_params(params, options.given);
  const auto add_if = [&](bool unused, const char* name) {
    if (unused) sentences.push_back(std::string(name) + " has no effect here");
  };
  add_if(options.metrics.value_or(Metrics::kNone) != Metrics::kNone && !measured, "--metrics");
  add_if(options.seed && !options.noise_sigma, "--seed");
  add_if(options.jobs && volume, "--jobs");
  add_if(options.host_memory && volume, "--host-memory");
  return sentences;
}

int run_denoise(DenoiseOptions options) {
  const Settings preset = options.preset.empty() ? Settings{} : find_preset(options.preset);
  const Params params = params_from(options.given, preset);
  if (!options.list.empty()) {
    const std::vector<std::string> listed = read_list(options.list);
    options.inputs.insert(options.inputs.end(), listed.begin(), listed.end());
  }
  check_inputs(options, params);
  check_noise(options.noise_sigma);
  if (params.depth > 0) return run_volume(options, params);
  ProgressLine progress;
  for (const std::string& sentence : unused_options(options, params)) {
    progress.say("note: " + sentence);
  }
  return run_batch(options, params, progress);
}

}  // namespace grainless::tools
