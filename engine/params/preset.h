// SPDX-License-Identifier: MIT
// Presets: named settings as readable text, one "key = value" on each line, with the keys and
// values of engine/params. A preset changes what it sets and nothing else; where to compute
// (device, memory) is never part of one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/boundary/status.h"
#include "params.h"

namespace grainless {

// Keys and values as set_param() takes them, each key once.
using Settings = std::vector<std::pair<std::string, std::string>>;

// A preset that comes with the program. It says how to treat noise, never how much of it there is:
// a measured or typed noise level stays. It sets everything else, so that nothing remains of a
// preset that was chosen before.
struct BuiltInPreset {
  const char* id;           // part of the file format, like the keys
  const char* label;        // marked for translation
  const char* description;  // marked for translation
  const char* changes;      // what differs from the defaults, as in a file

  Settings settings() const;
};

std::span<const BuiltInPreset> built_in_presets();

// By id or English label, in capitals or not; null when there is none.
const BuiltInPreset* find_built_in_preset(std::string_view name);

// False for keys that presets never hold.
bool is_preset_key(std::string_view key);

// The settings that have an effect with these parameters.
Settings settings_of(const Params& params);

// The settings of a picture's preset as the filter for stacks takes them: only those that it has.
// Where it lacks the preset's method, method and advanced settings become its own defaults.
Settings stack_settings(const Settings& settings);

// Sets what the settings name. A sigma without auto-sigma switches the automatic measurement off,
// as on the command line. With kBadParameter params is unchanged.
Status apply_settings(const Settings& settings, Params& params);

// Whether applying the settings would change nothing.
bool has_settings(const Params& params, const Settings& settings);

// `source` names the text in refusals: "SOURCE, line 3: …". Lines that begin with # are comments.
Status parse_preset(std::string_view text, const std::string& source, Settings& settings);

// The text that parse_preset() reads, below a comment that says what it is.
std::string preset_text(const Settings& settings);

}  // namespace grainless
