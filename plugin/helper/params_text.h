// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "engine/params/params.h"

namespace grainless::helper {

// All parameters, "key=value", one a line.
std::string params_text(const Params& params);

// The way back; keys that are left out keep their default. kBadParameter says what is wrong.
Status parse_params(std::string_view text, Params& params);

}  // namespace grainless::helper
