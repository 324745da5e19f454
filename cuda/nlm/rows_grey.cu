// SPDX-License-Identifier: MIT
#include "rows.cuh"

namespace grainless::cuda {

NlmKernel nlm_rows_grey(int patch) {
  return nlm_rows_for<1>(patch);
}

void nlm_add_passes_grey(const NlmArgs& args, cudaStream_t stream) {
  nlm_add_passes_of<1>(args, stream);
}

}  // namespace grainless::cuda
