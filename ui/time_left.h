// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

namespace grainless::ui {

// Whole seconds until work is done of which `fraction` took `elapsed` seconds; none as long as that
// says too little, or so little is left that nobody needs to know.
std::optional<int> time_left(double elapsed, double fraction);

}  // namespace grainless::ui
