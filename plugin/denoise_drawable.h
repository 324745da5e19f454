// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include "drawable_io.h"
#include "engine/denoise.h"
#include "report.h"

namespace grainless {

// What the dialog's preview already knows about a drawable; pixels that have changed since are
// noticed, and then the noise is measured again.
struct Known {
  const PixelBuffer* pixels = nullptr;  // of the whole drawable
  const NoiseModel* noise = nullptr;
};

// Reads, denoises and replaces one drawable's selected pixels, all or nothing. Main thread; the
// work itself is done by others meanwhile, and progress is reported from 0 to 1. An empty selection
// and a picture that stays as it is are no errors: report.engine.note says so.
Status denoise_drawable(Engine& engine, GimpDrawable* drawable, const Params& params,
                        const Known& known, const Fraction& progress, RunReport& report);

}  // namespace grainless
