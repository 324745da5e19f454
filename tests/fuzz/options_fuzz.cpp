// SPDX-License-Identifier: MIT
// The command line's parameters: a word a line.
#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>

#include "engine/boundary/status.h"
#include "fuzz.h"
#include "tools/cli/param_options.h"

using namespace grainless;

namespace {

// Making it takes longer than a hundred runs.
std::unique_ptr<CLI::App> made_app(tools::GivenParams& given) {
  auto app = std::make_unique<CLI::App>("Fuzzed.", "grainless");
  tools::add_param_options(*app, given);
  return app;
}

void check_params(const Params& params, const tools::GivenParams& given) {
  fuzz::expect(validate(params).ok(), "parameters that are out of range");
  for (const ParamSpec& spec : param_specs()) {
    Params same = params;
    const std::string text = param_text(params, spec);
    fuzz::expect(set_param(same, spec.key, text).ok() && same == params,
                 std::string(spec.key) + " is another one as text: " + text);
  }
  fuzz::expect(tools::unused_params(params, given).size() <= given.size(), "more words than given");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<std::string> words = {"grainless"};
  for (std::string word; std::getline(text, word);) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  static tools::GivenParams given;
  static const std::unique_ptr<CLI::App> app = made_app(given);
  given.clear();
  int code = -1;
  const auto count = static_cast<int>(arguments.size());
  if (!tools::parse_command_line(*app, count, arguments.data(), code)) {
    fuzz::expect(code == 0 || code == 1, "an exit status of " + std::to_string(code));
    return 0;
  }
  try {
    check_params(tools::params_from(given), given);
  } catch (const Error& error) {
    fuzz::expect(error.code() == ErrorCode::kBadParameter, error.what());
  }
  return 0;
}
