// SPDX-License-Identifier: MIT
#include "denoise_command.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/stopwatch.h"
#include "engine_setup.h"
#include "json_report.h"
#include "outputs.h"
#include "preset_option.h"
#include "progress_line.h"
#include "tools/image_io/files.h"
#include "tools/image_io/image_file.h"
#include "tools/metrics/fsim.h"
#include "tools/metrics/metrics.h"
#include "tools/noise.h"
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

// One picture from file to file.
class FileDenoiser {
 public:
  FileDenoiser(Engine& engine, const DenoiseOptions& options, const Params& params,
               ProgressLine& progress)
      : engine_(engine), options_(options), params_(params), progress_(progress) {
    callbacks_.cancel = &cancel_token();
    callbacks_.progress = [&progress](double fraction) { progress.update(fraction); };
  }

  Outcome run(const Job& job) {
    Outcome outcome;
    outcome.method = param_text(params_, *find_param("method"));
    Stopwatch reading;
    Image source = read_image(job.input, &cancel_token());
    outcome.read = reading.seconds();
    say_all(source.notes);
    const FileKind kind = kind_of_output(job.output);
    const PixelFormat stored{component_for(kind, source.format, job.output),
                             source.format.channels};
    say_all(losses(kind, source, job.output));
    const Component component = source.format.component;
    Image reference = read_reference(job, source);
    if (options_.noise_sigma) {
      if (component != Component::kFloat) source = convert(source, Component::kFloat, job.input);
      add_noise(source, *options_.noise_sigma, options_.seed);
    }
    Image result = denoise(source, job, outcome);
    if (reference.pixels != nullptr) measure(reference, source, result, outcome);
    if (stored.component != Component::kFloat && result.format.component != component) {
      result = convert(result, component, job.output);
    }
    write(job, std::move(result), outcome);
    return outcome;
  }

 private:
  void say_all(const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences) progress_.say("note: " + sentence);
  }

  // The clean picture: the one that was named, or the input where noise is going to be added to it.
  Image read_reference(const Job& job, const Image& source) {
    if (!options_.reference.empty()) {
      Image reference = read_image(options_.reference, &cancel_token());
      check_comparable(source.view(), reference.view(), job.input, options_.reference);
      return reference;
    }
    return options_.noise_sigma ? convert(source, Component::kFloat, job.input) : Image{};
  }

  Image denoise(const Image& source, const Job& job, Outcome& outcome) {
    Image result = make_image(source.format, source.width, source.height, job.output);
    result.premultiplied = source.premultiplied;
    result.metadata = source.metadata;
    NoiseModel noise;
    double estimate = 0;
    const Callbacks quiet{callbacks_.cancel, {}};  // progress is of the denoising alone
    throw_if_failed(engine_.noise_for(params_, source.view(), quiet, noise, &estimate));
    Stopwatch denoising;
    throw_if_failed(engine_.denoise(params_, noise, source.view(), result.mutable_view(),
                                    callbacks_, outcome.report));
    outcome.denoise = denoising.seconds();
    outcome.report.estimate = estimate;
    outcome.report.noise = noise;
    return result;
  }

  static void measure(const Image& clean, const Image& noisy, const Image& result,
                      Outcome& outcome) {
    outcome.measured = true;
    const Fsim features(clean.view());
    const auto quality = [&](const ConstImage& image) {
      return Quality{psnr(clean.view(), image), ssim(clean.view(), image), features.of(image)};
    };
    outcome.before = quality(noisy.view());
    outcome.after = quality(result.view());
  }

  void write(const Job& job, Image result, Outcome& outcome) {
    Stopwatch writing;
    stop_if_cancelled(&cancel_token());
    std::error_code error;
    if (!job.new_folder.empty() && !std::filesystem::create_directories(job.new_folder, error) &&
        error) {
      fail_file(job.new_folder, "can't be made: " + error.message());
    }
    say_all(write_image(job.output, std::move(result), &cancel_token()));
    outcome.write = writing.seconds();
  }

  Engine& engine_;
  const DenoiseOptions& options_;
  const Params& params_;
  ProgressLine& progress_;
  Callbacks callbacks_;
};

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
  for (const std::string& sentence : unused_params(params, options.given)) {
    progress.say("note: " + sentence);
  }
  Engine engine(engine_options(options.threads));
  engine.prepare(params);
  FileDenoiser denoiser(engine, options, params, progress);
  std::set<std::string> said;
  int code = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    progress.start("[" + std::to_string(i + 1) + "/" + std::to_string(jobs.size()) + "] " +
                   jobs[i].input);
    try {
      report(options, jobs[i], denoiser.run(jobs[i]), said, progress);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      progress.say(error.what());
      if (code == 0) code = exit_code(error.code());
    }
  }
  return code;
}

}  // namespace grainless::tools
