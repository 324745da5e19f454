// SPDX-License-Identifier: MIT
#include "kernel.cuh"

namespace grainless::cuda {

NlmKernel nlm_kernel_grey(int patch, int chunk) {
  return nlm_kernel_for<1, 1, false>(patch, chunk);
}

}  // namespace grainless::cuda
