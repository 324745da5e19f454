// SPDX-License-Identifier: MIT
#include "param_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "engine/boundary/status.h"
#include "engine_setup.h"

namespace grainless::tools {
namespace {

std::string range_text(const ParamSpec& spec) {
  std::ostringstream text;
  switch (spec.type) {
    case ParamType::kChoice:
      for (const Choice& choice : spec.choices) text << (text.tellp() > 0 ? "|" : "") << choice.id;
      break;
    case ParamType::kBool:
      text << "yes|no";
      break;
    case ParamType::kInt:
    case ParamType::kDouble:
      text << spec.minimum << ".." << static_cast<int64_t>(spec.maximum);
      break;
    case ParamType::kString:
      break;
  }
  return text.str();
}

// CLI11 takes "[a,b]" for two values, and a name may be written so. One that ends otherwise is one:
// with a NUL, which no argument has, until accept() takes it off.
std::vector<std::string> protected_arguments(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) {  // CLI11 wants the last one first
    std::string& argument = arguments.emplace_back(argv[i]);
    if (argument.starts_with('[') && argument.ends_with(']')) argument += '\0';
  }
  return arguments;
}

// An empty value is a script's variable that was never set: without it another thing would be done.
std::string accept(std::string& value) {
  if (value.ends_with('\0')) value.pop_back();
  return value.empty() ? "takes a value, and an empty one was given" : "";
}

}  // namespace

std::string check_decimal(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  const bool octal = text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
  const bool good = result.ec == std::errc{} && result.ptr == end && !octal;
  return good ? "" : "takes a decimal number, and '" + text + "' is none";
}

bool is_given(const GivenParams& given, const std::string& key) {
  return std::any_of(given.begin(), given.end(),
                     [&](const auto& pair) { return pair.first == key; });
}

std::string wrapped(const std::string& text, size_t columns) {
  std::istringstream words(text);
  std::string result, word;
  size_t used = 0;
  while (words >> word) {
    const bool fits = used == 0 || used + 1 + word.size() <= columns;
    if (used > 0) result += fits ? ' ' : '\n';
    used = fits && used > 0 ? used + 1 + word.size() : word.size();
    result += word;
  }
  return result;
}

void add_param_options(CLI::App& app, GivenParams& given) {
  for (const ParamSpec& spec : param_specs()) {
    const std::string key = spec.key;
    const auto remember = [&given, key](const std::string& value) {
      given.emplace_back(key, value);
    };
    std::string help = spec.tooltip;
    if (key == "sigma") help += " Giving it switches the automatic measurement off.";
    if (key == "depth") {
      help +=
          " All inputs, and all pages of TIFF files, are the layers of one volume (or the frames "
          "of a burst) then. Takes --method bm3d or nlm; OUTPUT is a TIFF file with a page a "
          "layer. 0: "
          "every input is a picture of its own.";
    }
    if (spec.type != ParamType::kString) help += " Takes " + range_text(spec) + ".";
    help += " Default: " + param_text(Params{}, spec) + ".";
    app.add_option_function<std::string>("--" + key, remember, wrapped(help, kHelpWidth))
        ->type_name("VALUE")
        ->take_last()
        ->group(spec.group == ParamGroup::kMain ? "Parameters" : "Advanced parameters");
  }
}

Params params_from(const GivenParams& given, const Settings& preset) {
  Params params;
  throw_if_failed(apply_settings(preset, params));
  for (const auto& [key, value] : given) throw_if_failed(set_param(params, key, value));
  if (is_given(given, "sigma") && !is_given(given, "auto-sigma")) params.auto_sigma = false;
  throw_if_failed(validate(params));
  return params;
}

bool parse_command_line(CLI::App& app, int argc, char** argv, int& code) {
  if (app.get_version_ptr() == nullptr) {  // the first time
    app.set_version_flag("--version", version_text);
    for (CLI::Option* option : app.get_options()) option->transform(CLI::Validator(accept, ""));
  }
  app.allow_windows_style_options(false);  // /name is a path there, too
  app.get_formatter()->column_width(kHelpColumn);
  const std::string program = app.get_name();
  try {
    app.parse(protected_arguments(argc, argv));
    return true;
  } catch (const CLI::Success& success) {  // --help, --version
    code = app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::string reason = error.what();
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    std::fprintf(stderr, "%s: %s (%s --help tells more)\n", program.c_str(), reason.c_str(),
                 program.c_str());
    code = 1;
  }
  return false;
}

std::vector<std::string> unused_params(const Params& params, const GivenParams& given) {
  std::vector<std::string> sentences;
  for (const auto& [key, value] : given) {
    if (!param_applies(params, key)) sentences.push_back("--" + key + " has no effect here");
  }
  return sentences;
}

}  // namespace grainless::tools
