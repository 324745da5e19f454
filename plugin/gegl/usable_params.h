// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "engine/params/params.h"

namespace grainless::effect {

// The nearest parameters that validate() accepts; `notes` gets a sentence for each that was another
// one. An effect's values come one by one, from sliders, files and programs, and there is nobody to
// refuse them to.
Params usable_params(const Params& given, std::vector<std::string>& notes);

}  // namespace grainless::effect
