// SPDX-License-Identifier: MIT
#include "nlm_kernel.cuh"

namespace grainless::cuda {

NlmKernel nlm_kernel_colour_two_weights(int patch) {
  switch (patch) {
    case 3:
      return nlm_kernel<3, 3, 2>;
    case 5:
      return nlm_kernel<5, 3, 2>;
    case 7:
      return nlm_kernel<7, 3, 2>;
    case 9:
      return nlm_kernel<9, 3, 2>;
    default:
      return nlm_kernel<0, 3, 2>;
  }
}

}  // namespace grainless::cuda
