// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "draw.h"

namespace grainless::sweep {

// A simpler draw that still fails: parameters at their defaults, a smaller and plainer picture.
// `fails` is asked some dozens of times.
Draw shrunk(const Draw& draw, const std::function<bool(const Draw&)>& fails);

}  // namespace grainless::sweep
