// SPDX-License-Identifier: MIT
#include "kernel.cuh"

namespace grainless::cuda {

NlmKernel nlm_patches_colour(int patch, int chunk) {
  return nlm_kernel_for<3, 1, true>(patch, chunk);
}

}  // namespace grainless::cuda
