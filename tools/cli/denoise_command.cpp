// SPDX-License-Identifier: MIT
#include "denoise_command.h"

#include <cstdio>
#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "engine_setup.h"
#include "file_denoiser.h"
#include "json_report.h"
#include "outputs.h"
#include "preset_option.h"
#include "progress_line.h"
#include "volume_command.h"

namespace grainless::tools {
namespace {

std::string decimals(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string decimals(const std::optional<double>& value, int digits) {
  return value ? decimals(*value, digits) : "-";
}

std::string summary(const Job& job, const Outcome& outcome) {
  const Report& report = outcome.report;
  std::string text = job.input + " -> " + job.output + ": " + report.device;
  if (!report.device_description.empty()) text += " (" + report.device_description + ")";
  text += ", " + outcome.method + ", sigma";
  for (int32_t c = 0; c < report.noise.channels; ++c) {
    text += " " + decimals(double(report.noise.sigma[0][c]), 2);
  }
  text += ", " + decimals(total_seconds(outcome), 2) + " s";
  if (outcome.measured) {
    text += ", PSNR " + decimals(outcome.before.psnr, 2) + " -> " +
            decimals(outcome.after.psnr, 2) + " dB, SSIM " + decimals(outcome.before.ssim, 4) +
            " -> " + decimals(outcome.after.ssim, 4);
  }
  return text;
}

void say_all(const std::vector<std::string>& notes, ProgressLine& progress) {
  for (const std::string& note : notes) progress.say("note: " + note);
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
  nlohmann::ordered_json object = json_report(outcome);
  if (options.inputs.size() > 1) {
    object["input"] = job.input;
    object["output"] = job.output;
  }
  progress.clear();
  print_json(object);
}

// While one picture is denoised, the next one is read and the one before is written: with a card
// files take longer than the filter. Without a thread to spare, steps follow each other.
class Batch {
 public:
  Batch(const FileDenoiser& denoiser, const DenoiseOptions& options, const std::vector<Job>& jobs,
        ProgressLine& progress)
      : denoiser_(denoiser), options_(options), jobs_(jobs), progress_(progress) {}

  // The exit code.
  int run() {
    read(0);
    for (size_t i = 0; i < jobs_.size(); ++i) {
      progress_.start("[" + std::to_string(i + 1) + "/" + std::to_string(jobs_.size()) + "] " +
                      jobs_[i].input);
      std::future<Picture> current = std::move(reading_);
      current.wait();
      read(i + 1);
      try {
        Picture picture = current.get();
        say_all(picture.notes, progress_);
        denoiser_.denoise(jobs_[i], picture);
        finish_writing();
        write(jobs_[i], std::move(picture));
      } catch (const Error& error) {
        finish_writing();
        fail(error);
      }
    }
    finish_writing();
    return code_;
  }

 private:
  void read(size_t i) {
    if (i >= jobs_.size()) return;
    reading_ = std::async([this, &job = jobs_[i]] { return denoiser_.read(job); });
  }

  void write(const Job& job, Picture picture) {
    writing_ = std::async([this, &job, picture = std::move(picture)]() mutable {
      denoiser_.write(job, picture);
      say_all(picture.notes, progress_);
      report(options_, job, picture.outcome, said_, progress_);
    });
  }

  void finish_writing() {
    if (!writing_.valid()) return;
    try {
      writing_.get();
    } catch (const Error& error) {
      fail(error);
    }
  }

  // One that fails doesn't stop the others; a cancel does.
  void fail(const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw error;
    progress_.say(error.what());
    if (code_ == 0) code_ = exit_code(error.code());
  }

  const FileDenoiser& denoiser_;
  const DenoiseOptions& options_;
  const std::vector<Job>& jobs_;
  ProgressLine& progress_;
  int code_ = 0;
  std::set<std::string> said_;
  std::future<Picture> reading_;
  std::future<void> writing_;
};

}  // namespace

int run_denoise(const DenoiseOptions& options) {
  const Settings preset = options.preset.empty() ? Settings{} : find_preset(options.preset);
  const Params params = params_from(options.given, preset);
  if (!options.reference.empty() && options.inputs.size() > 1) {
    throw Error(ErrorCode::kBadParameter, "--reference takes a single input");
  }
  if (params.depth > 0) return run_volume(options, params);
  const std::vector<Job> jobs = plan_outputs(options.inputs, options.output, options.reference);
  ProgressLine progress;
  say_all(unused_params(params, options.given), progress);
  Engine engine(engine_options(options.threads));
  engine.prepare(params);
  const FileDenoiser denoiser(engine, options, params, progress);
  return Batch(denoiser, options, jobs, progress).run();
}

}  // namespace grainless::tools
