// SPDX-License-Identifier: MIT
#include "kernel.cuh"

namespace grainless::cuda {

bool volume_shape_grey(int patch, VolumeShape& shape) {
  if (patch == 3) shape = volume_shape<3, 1, 4, 4, 2>(40);
  if (patch == 5) shape = volume_shape<5, 1, 4, 2, 2>(130);
  return patch == 3 || patch == 5;
}

}  // namespace grainless::cuda
