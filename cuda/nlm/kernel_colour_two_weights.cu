// SPDX-License-Identifier: MIT
#include "kernel.cuh"

namespace grainless::cuda {

NlmKernel nlm_kernel_colour_two_weights(int patch, int chunk) {
  return nlm_kernel_for<3, 2, false>(patch, chunk);
}

}  // namespace grainless::cuda
