// SPDX-License-Identifier: MIT
// Presets: named settings as readable text, one "key = value" a line with the keys and values of
// engine/params. A preset changes what it sets and nothing else; where to compute (device, memory)
// is never part of one.
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

// Settings that come with the program. They say how to treat noise, never how much of it there is:
// a noise level that was measured or typed stays. Each sets everything else, so that one chosen
// after another leaves nothing of it behind.
struct BuiltInPreset {
  const char* id;           // a file format, as the keys are
  const char* label;        // marked for translation
  const char* description;  // marked for translation
  const char* changes;      // what differs from the defaults, as in a file

  Settings settings() const;
};

std::span<const BuiltInPreset> built_in_presets();

// By id or English label, capital or not; null when there is none.
const BuiltInPreset* find_built_in_preset(std::string_view name);

// False for what presets never hold.
bool is_preset_key(std::string_view key);

// Everything that has an effect with these parameters.
Settings settings_of(const Params& params);

// What the settings of a picture's preset say to the filter for stacks: what it knows of them.
// Sizes that are meant for another method than its own become automatic.
Settings stack_settings(const Settings& settings);

// Sets what the settings name. A sigma without auto-sigma means that very sigma, as on the command
// line. kBadParameter: params is unchanged.
Status apply_settings(const Settings& settings, Params& params);

// Whether applying the settings would change nothing.
bool has_settings(const Params& params, const Settings& settings);

// `source` names the text in refusals: "SOURCE, line 3: …". Lines that begin with # are comments.
Status parse_preset(std::string_view text, const std::string& source, Settings& settings);

// As parse_preset() reads it, below a comment that says what it is.
std::string preset_text(const Settings& settings);

}  // namespace grainless
