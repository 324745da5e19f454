// SPDX-License-Identifier: MIT
#include "rows.cuh"

namespace grainless::cuda {

NlmKernel nlm_rows_colour(int patch) {
  return nlm_rows_for<3>(patch);
}

void nlm_add_passes_colour(const NlmArgs& args, cudaStream_t stream) {
  nlm_add_passes_of<3>(args, stream);
}

}  // namespace grainless::cuda
