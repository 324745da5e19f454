// SPDX-License-Identifier: MIT
#include "rows.cuh"

namespace grainless::cuda {

NlmRows nlm_rows_colour_two_weights(int patch) {
  return nlm_rows_for<3, 2, 3>(patch);
}

}  // namespace grainless::cuda
