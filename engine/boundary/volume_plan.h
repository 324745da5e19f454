// SPDX-License-Identifier: MIT
// Non-Local Means over a volume: a stack of layers of one size (Palma et al. 2013).
#pragma once

#include "plan.h"

namespace grainless {

inline constexpr int32_t kMaxDepth = 15;

// Where a part of larger layers is cut out, its first column and row are multiples of this: a
// backend's rounding may go by a pixel's place in a block of so many pixels a side, as what it sums
// is relative to one of them.
inline constexpr int32_t kVolumeCut = 8;

// The search box has 2 radius + 1 pixels along x and y and 2 depth + 1 layers, the patch
// patch x patch x layers voxels: voxel i of a patch of n spans from its own place - n / 2 on, along
// every axis. Distances, weights, centre and reflected borders are as in NlmPlan, pixel-wise, the
// sums over all the patch's voxels. Beyond the volume's ends there are no layers to look in: the
// reflection, which patches see, shows the noise of the layers again.
struct VolumePlan {
  NlmPlan nlm;
  int32_t depth;
  int32_t layers;    // of a patch
  ValueRange valid;  // for Plan::valid

  // Layers before and after one that its result depends on.
  int32_t reach() const { return depth + layers / 2; }
  // Pixels round one that its result depends on, beyond what fills its invalid neighbours.
  int32_t margin() const { return nlm.radius + nlm.patch / 2; }
};

}  // namespace grainless
