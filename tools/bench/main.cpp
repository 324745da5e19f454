// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "bench_case.h"
#include "bench_table.h"
#include "engine/boundary/status.h"
#include "tools/cli/engine_setup.h"
#include "tools/cli/param_options.h"

namespace {

using namespace grainless;
using namespace grainless::tools;

struct BenchOptions {
  GivenParams given;
  std::string size = "1024x1024", component = "float", suite = "one";
  int32_t channels = 1, layers = 1, repeat = 7, threads = 0;
  bool json = false;
};

constexpr double kDefaultSigma = 25.0;
constexpr char kProgram[] = "grainless-bench";

void add_options(CLI::App& app, BenchOptions& options) {
  app.add_option("--suite", options.suite, "one, peers, seeds, volumes or scaling; default one");
  app.add_option("--size", options.size, "WIDTHxHEIGHT of suite one; default 1024x1024");
  app.add_option("--channels", options.channels, "1 grey, 2 with alpha, 3 RGB, 4 with alpha")
      ->check(CLI::Range(1, 4));
  app.add_option("--layers", options.layers, "Of a volume; default 1")->check(CLI::Range(1, 4096));
  app.add_option("--component", options.component, "u8, u16, half or float; default float");
  app.add_option("--repeat", options.repeat, "Timed runs, after one that isn't; default 7")
      ->check(CLI::Range(1, 1000));
  app.add_option("--threads", options.threads, "CPU threads; 0: one for each core")
      ->check(CLI::Range(0, 4096));
  app.add_flag("--json", options.json, "Print one JSON object instead of the table");
  add_param_options(app, options.given);
}

void parse_size(const std::string& text, BenchCase& bench) {
  const char* end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, bench.width);
  const bool has_x = width.ec == std::errc() && width.ptr != end && *width.ptr == 'x';
  const auto height = std::from_chars(has_x ? width.ptr + 1 : end, end, bench.height);
  if (height.ec != std::errc() || height.ptr != end) {
    throw Error(ErrorCode::kBadParameter, "'" + text + "' is not a size: it takes 6000x4000");
  }
}

Component parse_component(const std::string& text) {
  if (text == "u8") return Component::kU8;
  if (text == "u16") return Component::kU16;
  if (text == "half") return Component::kHalf;
  if (text == "float") return Component::kFloat;
  throw Error(ErrorCode::kBadParameter,
              "'" + text + "' is not a component: it takes u8, u16, half or float");
}

BenchCase given_case(const BenchOptions& options) {
  BenchCase bench;
  bench.params = params_from(options.given);
  if (!is_given(options.given, "sigma")) bench.params.sigma = kDefaultSigma;
  bench.params.auto_sigma = false;
  bench.format = {parse_component(options.component), options.channels};
  parse_size(options.size, bench);
  bench.layers = options.layers;
  bench.depth = bench.params.depth;
  if (bench.layers > 1 && bench.depth == 0) {
    throw Error(ErrorCode::kBadParameter, "--layers are of a volume: they need --depth");
  }
  return bench;
}

void run(const BenchOptions& options) {
  const std::vector<BenchCase> cases = suite(options.suite, given_case(options));
  Engine engine(engine_options(options.threads));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!options.json) std::fputs(table_head().c_str(), stdout);
  for (const BenchCase& bench : cases) {
    const BenchResult result = run_case(engine, bench, options.repeat, cancel_token());
    for (const std::string& reason : result.fallbacks) {
      std::fprintf(stderr, "%s: %s\n", kProgram, reason.c_str());
    }
    rows.push_back(json_row(bench, result));
    if (!options.json) std::fputs(table_row(bench, result).c_str(), stdout);
    std::fflush(stdout);
  }
  const nlohmann::ordered_json object = {{"repeat", options.repeat}, {"cases", rows}};
  if (options.json) std::printf("%s\n", object.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  catch_signals();
  try {
    CLI::App app("Times the engine on a synthetic noisy picture.", kProgram);
    BenchOptions options;
    add_options(app, options);
    int code = 0;
    if (parse_command_line(app, argc, argv, code)) run(options);
    return code;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", kProgram, error.what());
    return exit_code(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", kProgram, error.what());
    return 2;
  }
}
