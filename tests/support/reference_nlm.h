// SPDX-License-Identifier: MIT
#pragma once

#include "engine/boundary/plan.h"
#include "engine/cpu/frame/planes.h"

namespace grainless::test {

// Patches are compared as engine/boundary/plan.h says (rounded match values), or on the values
// themselves.
enum class Matching { kRounded, kReal };

// Non-Local Means as engine/boundary/plan.h states it, in double, pixel by pixel. The planes hold
// the whole image.
Planes reference_nlm(const NlmPlan& nlm, const Planes& image, Matching matching);

}  // namespace grainless::test
