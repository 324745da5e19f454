// SPDX-License-Identifier: MIT
// Measures what a stack shows of its noise and no single layer does: where two layers show the
// same, their difference is noise and nothing else, at every brightness.
#pragma once

#include <cmath>
#include <vector>

#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "model.h"
#include "sample.h"

namespace grainless {

// The noise that some of the layers surely show.
struct SureLayers {
  const PictureNoise* for_all = nullptr;  // for all layers that move and are not sure
  const PictureNoise* of_most = nullptr;  // of most layers, where most are sure
  double most = HUGE_VAL;                 // luma's sigma; a stronger apparent noise is motion
};

// `samples` hold the same parts of the layers, in their order.
// - Where the layers surely stand still, sets still. If they differ by clearly more than each
//   alone shows, sets sigma of all levels to that, and confidence to kMeasured.
// - Where most squares stand still (motion.h), sets between, whatever the noise looks like,
//   and limits sigma to it, and strength where that lowers it.
// - Sets tones and unevenness from what has not moved.
// Changes nothing where layers repeat each other in part, or differ by more than one of them
// varies.
void measure_layers(const std::vector<Sample>& samples, const SureLayers& sure, ThreadPool& pool,
                    const Callbacks& callbacks, NoiseModel& noise);

// An upper bound of luma's noise variance in one layer: what is left of the difference between
// layers in most places when displacements are undone. Infinite where that can't be told.
double variance_left(const std::vector<Sample>& samples, ThreadPool& pool,
                     const Callbacks& callbacks);

}  // namespace grainless
