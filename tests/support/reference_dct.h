// SPDX-License-Identifier: MIT
#pragma once

#include "engine/boundary/plan.h"
#include "engine/cpu/frame/planes.h"

namespace grainless::test {

// The DCT denoiser as engine/boundary/plan.h states it, in double, patch by patch. The planes hold
// the whole image.
Planes reference_dct(const DctPlan& plan, const Planes& image);

}  // namespace grainless::test
