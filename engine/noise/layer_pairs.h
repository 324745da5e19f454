// SPDX-License-Identifier: MIT
// Whether the layers of a stack stand still, by all that is compared of them, and how many are
// better averaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "layer_pair.h"
#include "sample.h"

namespace grainless {

// All that is compared of layers in their order: of neighbours, of those two apart, and of the
// first and the last one.
struct Pairs {
  std::vector<LayerPair> near, far, ends;
};

// What is compared, and how: `known` and `still` as in compare_layers().
struct Comparison {
  const std::vector<Sample>& samples;
  double known;
  const std::vector<bool>& still;
  ThreadPool& pool;
  const Callbacks& callbacks;
};

// Each layer with the one so many after it.
std::vector<LayerPair> compare_apart(const Comparison& comparison, size_t steps, Apart apart);

// `averaged`: as of layers that differ little on average.
Pairs compare_all(const Comparison& comparison, bool averaged);

// Fine texture that moves differs as evenly as noise does; what it differs by is explained.
bool has_moved(const LayerPair& pair);

// As in a series of focus, whose mean is blurred where noise hides by how much.
bool differ_in_sharpness(const Pairs& pairs);

// At least half of the pairs.
bool mostly_still(const std::vector<LayerPair>& pairs);

// Whether all that shows a displacement shows the same in each pair: few squares of many pairs tell
// as much as many of one, and none may contradict.
bool move_together(const std::vector<LayerPair>& pairs);

// How many layers on either side a mean may take that is better than each layer: 0 for none. The
// pairs become those that say so.
int32_t reach_of(const Comparison& comparison, bool still, Pairs& pairs);

}  // namespace grainless
