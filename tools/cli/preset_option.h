// SPDX-License-Identifier: MIT
// Presets by name or file: the built-in ones, those that the dialog saved, and any other file.
#pragma once

#include <string>

#include "engine/params/preset.h"

namespace grainless::tools {

// `wanted` is a file when it has a '/' or ends in ".preset"; otherwise the name of a built-in
// preset, or of one that the dialog saved. Throws Error(kBadParameter, kBadInput).
Settings find_preset(const std::string& wanted);

// The file that find_preset() reads; empty for a built-in preset. Throws the same.
std::string preset_file(const std::string& wanted);

// Lists all presets on stdout.
void run_presets(bool json);

}  // namespace grainless::tools
