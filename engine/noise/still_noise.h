// SPDX-License-Identifier: MIT
// What a stack shows of its noise that no layer shows alone: where two layers are the same, their
// difference is noise and nothing else, at every brightness.
#pragma once

#include <vector>

#include "model.h"
#include "sample.h"

namespace grainless {

// What is measured of one picture is the noise of its flattest and calmest parts; a camera's is
// stronger in some tones than in others. Sets noise.tones and noise.unevenness from layers of which
// `samples` hold the same parts, and leaves tones that moved in all of them as they are.
void measure_tones(const std::vector<Sample>& samples, NoiseModel& noise);

// The same noise where tones differ clearly, as colours have it that are bent so that they don't.
NoiseModel evened_noise(const NoiseModel& noise);

}  // namespace grainless
