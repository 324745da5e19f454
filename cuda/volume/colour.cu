// SPDX-License-Identifier: MIT
#include "kernel.cuh"

namespace grainless::cuda {

bool volume_shape_colour(int patch, VolumeShape& shape) {
  if (patch == 3) shape = volume_shape<3, 3, 2, 2, 2>(230);
  if (patch == 5) shape = volume_shape<5, 3, 1, 2, 2>(940);
  return patch == 3 || patch == 5;
}

}  // namespace grainless::cuda
