// SPDX-License-Identifier: MIT
// The engine's parameters as options of a program: one --key a row of param_specs().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/params/params.h"
#include "engine/params/preset.h"

namespace CLI {
class App;
}

namespace grainless::tools {

// Keys and values in the order they were given.
using GivenParams = std::vector<std::pair<std::string, std::string>>;

// Adds the options; parsing fills `given`, which must outlive it.
void add_param_options(CLI::App& app, GivenParams& given);

bool is_given(const GivenParams& given, const std::string& key);

// `given` on top of the preset's settings. Throws Error(kBadParameter). A sigma without auto-sigma
// means that very sigma.
Params params_from(const GivenParams& given, const Settings& preset = {});

// One sentence for each given parameter that has no effect beside the others.
std::vector<std::string> unused_params(const Params& params, const GivenParams& given);

// What is wrong with a number as it is written, for CLI::Option::check(): CLI11 alone takes 0x10,
// 1_000, 010 for eight and true, too. Empty for those that are written as parameters are.
std::string check_decimal(const std::string& text);

// Runs CLI11's parser and prints help, version or what is wrong with the arguments. False: the
// program ends here, with `code`.
bool parse_command_line(CLI::App& app, int argc, char** argv, int& code);

// Breaks a text into lines of at most `columns`, for CLI11, which doesn't.
std::string wrapped(const std::string& text, size_t columns);

inline constexpr size_t kHelpColumn = 30, kHelpWidth = 66;

}  // namespace grainless::tools
