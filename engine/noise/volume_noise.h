// SPDX-License-Identifier: MIT
// The noise of a volume: of layers that may be one scene's, and need not.
#pragma once

#include <span>
#include <vector>

#include "engine/boundary/pixels.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "model.h"

namespace grainless {

// Sigma of luma on which at least half of the layers agree.
double most_agreed(const std::vector<PictureNoise>& found);
// Of layers' own models, the mean of those that found no more: one that did took texture for noise.
PictureNoise mean_noise(const std::vector<PictureNoise>& found, double most);

// The mean of what some layers of a volume say of their noise; white where most of them are, and as
// sure as the least sure of them.
// Where the layers are `all`, at most kMostMeasured, and clearly differ in how strong their noise
// is, the model's strengths say by how much.
NoiseModel estimate_volume_noise(std::span<const ConstImage> layers, bool all, NoiseKind kind,
                                 ThreadPool& pool, const Callbacks& callbacks);

}  // namespace grainless
