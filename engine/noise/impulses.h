// SPDX-License-Identifier: MIT
// Whether a picture has impulses (engine/boundary/impulse.h), told from what it shows itself.
#pragma once

#include <string>

#include "engine/params/params.h"
#include "engine/thread_pool.h"
#include "picture_noise.h"
#include "sample.h"

namespace grainless {

// For people: "a few hot pixels"; empty where there are none.
std::string impulses_text(Impulses impulses);

// Whether what the parameters do depends on the picture's impulses.
bool asks_for_impulses(const Params& params);

// Impulses stand alone: a picture's own glints, stars and dots have as many of two pixels as of
// one. Drawn and dithered pictures, whose dots are theirs, have none. Where there are any, they are
// taken out of the sample: they are no noise.
Impulses mend_impulses(Sample& sample, const PictureRange& range, ThreadPool& pool);

}  // namespace grainless
