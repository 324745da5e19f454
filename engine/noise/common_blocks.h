// SPDX-License-Identifier: MIT
// What the layers of a stack hold of noise, whatever moves, and however strong or coarse it is.
// Displaced by little each, layers differ from their mean by two pictures, its gradients, in any
// mixture: of the principal components of a block's layers motion fills two. Noise fills all alike,
// and is what the weakest hold.
#pragma once

#include <vector>

#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "layer_pair.h"
#include "sample.h"

namespace grainless {

// With three components none would be left.
inline constexpr size_t kFewestCommon = 4;

struct CommonBlocks {
  // Of all layers: variance is what they differ by, of one, `left` what the weakest components
  // hold of it. None of fewer than kFewestCommon layers.
  LayerPair all;
  bool same_scene = false;  // layers have more in common than they differ by
};

CommonBlocks compare_all_layers(const std::vector<Sample>& samples, ThreadPool& pool,
                                const Callbacks& callbacks);

// Squares of kMotionSide, in compare_layers()'s order, that differ by noise alone, however coarse:
// no mixture of layers differs more than another, as every motion or change of light has it; and by
// no more than those that show the same structure in all layers. (Of what has moved far any mixture
// differs alike, too, but none shows the same.) None of fewer than kFewestCommon layers.
std::vector<bool> still_squares(const std::vector<Sample>& samples);

}  // namespace grainless
