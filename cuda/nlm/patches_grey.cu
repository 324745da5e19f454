// SPDX-License-Identifier: MIT
#include "kernel.cuh"

namespace grainless::cuda {

NlmKernel nlm_patches_grey(int patch, int chunk) {
  return nlm_kernel_for<1, 1, true>(patch, chunk);
}

}  // namespace grainless::cuda
