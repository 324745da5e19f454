// SPDX-License-Identifier: MIT
#pragma once

#include <glib.h>

#include <string>

namespace grainless::ui {

// A translated pattern of printf with its values.
std::string format(const char* pattern, ...) G_GNUC_PRINTF(1, 2);

}  // namespace grainless::ui
