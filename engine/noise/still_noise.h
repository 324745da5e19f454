// SPDX-License-Identifier: MIT
// What a stack shows of its noise that no layer shows alone: where two layers are the same, their
// difference is noise and nothing else, at every brightness.
#pragma once

#include <cmath>
#include <vector>

#include "model.h"
#include "sample.h"

namespace grainless {

// What some of the layers surely show of their noise.
struct SureLayers {
  const NoiseModel* for_all = nullptr;  // counts for all that move and are not sure
  const NoiseModel* of_most = nullptr;  // what most layers show, where most are sure
  double most = HUGE_VAL;               // sigma of luma: what moves like more is none
};

// From layers in their order, of which `samples` hold the same parts. Where they surely stand
// still: sets noise.still, and sigma of all levels to what they differ by where that is clearly
// more than the layers alone show: confidence is kMeasured then. Where most squares do (motion.h),
// whatever the noise looks like: sets noise.between, and limits sigma to it, and strength where
// that makes it less. Sets noise.tones and noise.unevenness from what has not moved.
// All stays as it is where layers repeat each other in part, or differ by more than one varies by.
void measure_layers(const std::vector<Sample>& samples, const SureLayers& sure, NoiseModel& noise);

// What is left of luma's difference between layers in most places when displacements are undone:
// its variance in one layer, at most. Infinite where nothing tells.
double variance_left(const std::vector<Sample>& samples);

}  // namespace grainless
