// SPDX-License-Identifier: MIT
#include "nlm_kernel.cuh"

namespace grainless::cuda {

NlmKernel nlm_kernel_grey(int patch) {
  switch (patch) {
    case 3:
      return nlm_kernel<3, 1, 1>;
    case 5:
      return nlm_kernel<5, 1, 1>;
    case 7:
      return nlm_kernel<7, 1, 1>;
    case 9:
      return nlm_kernel<9, 1, 1>;
    default:
      return nlm_kernel<0, 1, 1>;
  }
}

}  // namespace grainless::cuda
