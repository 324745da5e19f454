// SPDX-License-Identifier: MIT
// How the noise of a stack depends on brightness: by what its layers differ by in each tone, or as
// each layer shows it alone.
#pragma once

#include <vector>

#include "layer_pair.h"
#include "model.h"

namespace grainless {

// Tones that few blocks have, or that moved, take what those beside them show.
void fill_gaps(const std::vector<double>* found, float* tones);

// Sets tones, layer_tones and unevenness by pairs of neighbours. `found`: luma's sigma as of
// each layer.
void measure_all_tones(const std::vector<LayerPair>& near, float found, NoiseModel& noise);

// After StackNoise::alone: what each layer surely shows at every brightness tells layers apart
// where nothing that stood still does, and white noise is no more than that between layers, either.
void tell_layers_apart(NoiseModel& noise);

// The same noise where tones differ clearly, as colours have it that are bent so that they don't.
NoiseModel evened_noise(const NoiseModel& noise);

}  // namespace grainless
