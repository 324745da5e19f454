// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <string_view>

#include "denoise_command.h"
#include "devices_command.h"
#include "engine/boundary/status.h"
#include "engine/platform/system.h"
#include "engine_setup.h"
#include "estimate_command.h"
#include "metrics_command.h"
#include "preset_option.h"
#include "progress_line.h"

namespace {

using grainless::ErrorCode;
using namespace grainless::tools;

constexpr char kFooter[] =
    "Other commands: grainless devices [--json], grainless presets [--json],\n"
    "grainless estimate INPUT... [--json], grainless metrics A B [--json].\n"
    "Exit codes: 0 done, 1 bad input or parameters, 2 device failure, 3 cancelled.";

// On one line. Takes no memory: there may be none.
int fail(std::string_view reason, int code) {
  std::fputs("grainless: ", stderr);
  for (auto end = std::ranges::find_if(reason, is_control); end != reason.end();
       end = std::ranges::find_if(reason, is_control)) {
    const auto length = static_cast<size_t>(end - reason.begin());
    std::fprintf(stderr, "%.*s ", static_cast<int>(length), reason.data());
    reason.remove_prefix(length + 1);
  }
  std::fprintf(stderr, "%.*s\n", static_cast<int>(reason.size()), reason.data());
  return code;
}

template <typename Mebibytes>
void add_host_memory(CLI::App& app, Mebibytes& mebibytes) {
  app.add_option(
         "--host-memory", mebibytes,
         wrapped("Most of the computer's memory for a picture's pixels; larger ones pass "
                 "through in bands of rows, from TIFF to TIFF or PNG; default 1024, or half of "
                 "what is free",
                 kHelpWidth))
      ->check(check_decimal)
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("MIB");
}

void add_metrics_option(CLI::App& app, std::optional<Metrics>& metrics) {
  const std::map<std::string, Metrics> names{
      {"none", Metrics::kNone}, {"psnr", Metrics::kPsnr}, {"all", Metrics::kAll}};
  app.add_option_function<std::string>(
         "--metrics", [&metrics, names](const std::string& name) { metrics = names.at(name); },
         wrapped("What is measured against the clean picture: all is PSNR, SSIM and FSIM, none "
                 "saves the time. Takes all|psnr|none. Default: all with --reference, psnr where "
                 "noise is added.",
                 kHelpWidth))
      ->check(CLI::IsMember(names).description(""))
      ->type_name("NAME")
      ->group("Measuring");
}

void add_denoise_options(CLI::App& app, DenoiseOptions& options) {
  const auto text = [](const char* description) { return wrapped(description, kHelpWidth); };
  app.add_option("INPUT", options.inputs, "Pictures: PNG, TIFF, JPEG, PGM, PPM, PAM or PFM");
  app.add_option("-o,--output", options.output,
                 text("The result: a file, or for several inputs a folder or a pattern in which "
                      "{} stands for the input's name. Its extension sets the format; the "
                      "precision stays the input's where the format has it."))
      ->required()
      ->type_name("OUTPUT");
  app.add_option("--threads", options.threads, "CPU threads; 0: one for each core")
      ->check(check_decimal)
      ->check(CLI::Range(0, 4096))
      ->type_name("COUNT");
  add_host_memory(app, options.host_memory);
  app.add_flag("--json", options.json,
               text("Print one JSON object for each picture on the standard output, each on "
                    "a line."));
  app.add_option(
         "--reference", options.reference,
         text("The clean picture: PSNR, SSIM and FSIM before and after are reported against it."))
      ->type_name("CLEAN")
      ->group("Measuring");
  app.add_option("--add-noise", options.noise_sigma,
                 text("Add white Gaussian noise of this standard deviation (8-bit steps) first, "
                      "in float and without clipping, and measure PSNR against the picture "
                      "before."))
      ->check(check_decimal)
      ->type_name("SIGMA")
      ->group("Measuring");
  app.add_option("--seed", options.seed, "Chooses the noise that is added; default 1")
      ->check(check_decimal)
      ->type_name("N")
      ->group("Measuring");
  add_metrics_option(app, options.metrics);
  app.add_option("--preset", options.preset,
                 text("Settings by name ('grainless presets' lists them) or from a file, which "
                      "has a / in its path or ends in .preset. Options given beside it win."))
      ->type_name("NAME|FILE")
      ->take_last()
      ->group("Parameters");
  add_param_options(app, options.given);
}

void add_batch_options(CLI::App& app, DenoiseOptions& options) {
  const auto text = [](const char* description) { return wrapped(description, kHelpWidth); };
  app.add_option("--list", options.list,
                 text("A file or pipe that names further inputs, one on each line; - reads the "
                      "standard input"))
      ->type_name("FILE")
      ->group("Batches");
  app.add_option("--jobs", options.jobs,
                 text("How many pictures are denoised at the same time, each with its own "
                      "memory; default 1. More keep fast cards busy with small pictures; on "
                      "the processor, each has a thread of its own."))
      ->check(check_decimal)
      ->check(CLI::Range(1, 64))
      ->type_name("COUNT")
      ->group("Batches");
  app.add_flag("--resume", options.resume,
               text("Leave out pictures whose result exists and is newer than the picture "
                    "and the preset's file. Changes of other options are not noticed."))
      ->group("Batches");
  app.add_option("--part", options.part,
                 text("Only the I-th of N parts of all inputs, for several computers with the "
                      "same files. Each takes every N-th picture."))
      ->type_name("I/N")
      ->group("Batches");
}

int denoise_main(int argc, char** argv) {
  CLI::App app("Takes the noise out of photographs.", "grainless");
  app.footer(kFooter);
  DenoiseOptions options;
  add_denoise_options(app, options);
  add_batch_options(app, options);
  int code = 0;
  return parse_command_line(app, argc, argv, code) ? run_denoise(options) : code;
}

int devices_main(int argc, char** argv) {
  CLI::App app("Lists the devices that can denoise.", "grainless devices");
  bool json = false;
  app.add_flag("--json", json, "Print one JSON object");
  int code = 0;
  if (parse_command_line(app, argc, argv, code)) run_devices(json);
  return code;
}

int presets_main(int argc, char** argv) {
  CLI::App app("Lists the presets: the built-in ones, and those saved in GIMP.",
               "grainless presets");
  bool json = false;
  app.add_flag("--json", json, "Print one JSON object");
  int code = 0;
  if (parse_command_line(app, argc, argv, code)) run_presets(json);
  return code;
}

int metrics_main(int argc, char** argv) {
  CLI::App app(wrapped("Prints PSNR (all colour channels, 8-bit scale), SSIM (Wang 2004: "
                       "Gaussian window of 11 x 11 pixels, mean over the channels) and FSIM "
                       "(Zhang 2011; FSIMc in colour) of two "
                       "pictures. As JSON, null stands for a value that is not finite: PSNR of "
                       "identical pictures.",
                       kHelpWidth + kHelpColumn),
               "grainless metrics");
  std::string a, b;
  bool json = false;
  app.add_option("A", a, "The clean picture")->required();
  app.add_option("B", b, "The picture to be judged")->required();
  app.add_flag("--json", json, "Print one JSON object");
  int code = 0;
  if (parse_command_line(app, argc, argv, code)) run_metrics(a, b, json);
  return code;
}

int estimate_main(int argc, char** argv) {
  const auto text = [](const char* description) { return wrapped(description, kHelpWidth); };
  CLI::App app(wrapped("Prints the noise of pictures, and how certain that is: the standard "
                       "deviation, in 8-bit steps, of grey or of lightness and two colour "
                       "channels. No file is changed.",
                       kHelpWidth + kHelpColumn),
               "grainless estimate");
  EstimateOptions options;
  app.add_option("INPUT", options.inputs, "Pictures")->required();
  app.add_flag("--json", options.json, "Print one JSON object for each picture, each on a line");
  app.add_option("--noise", options.kind,
                 text("What to look for: auto, or camera for coarse noise, which may be "
                      "texture."))
      ->type_name("KIND");
  app.add_option("--threads", options.threads, "CPU threads; 0: one for each core")
      ->check(check_decimal)
      ->check(CLI::Range(0, 4096))
      ->type_name("COUNT");
  add_host_memory(app, options.host_memory);
  app.add_option("--add-noise", options.noise_sigma,
                 text("Add white Gaussian noise of this standard deviation first, in float."))
      ->check(check_decimal)
      ->type_name("SIGMA");
  app.add_option("--seed", options.seed, "Chooses the noise that is added; default 1")
      ->check(check_decimal)
      ->type_name("N");
  int code = 0;
  return parse_command_line(app, argc, argv, code) ? run_estimate(options) : code;
}

int dispatch(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "devices") return devices_main(argc - 1, argv + 1);
  if (command == "presets") return presets_main(argc - 1, argv + 1);
  if (command == "estimate") return estimate_main(argc - 1, argv + 1);
  if (command == "metrics") return metrics_main(argc - 1, argv + 1);
  return denoise_main(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  argv = grainless::start_program(argc, argv);
  catch_signals();
  try {
    return dispatch(argc, argv);
  } catch (const grainless::Error& error) {
    const bool cancelled = error.code() == ErrorCode::kCancelled;
    return fail(cancelled ? "cancelled, nothing more was written" : error.what(),
                exit_code(error.code()));
  } catch (const std::bad_alloc&) {
    return fail("out of memory", 2);
  } catch (const std::exception& error) {
    return fail(error.what(), 2);
  }
}
