// SPDX-License-Identifier: MIT
#include "rows.cuh"

namespace grainless::cuda {

NlmRows nlm_totals_colour_two_weights(int patch) {
  return nlm_rows_for<3, 2, 0>(patch);
}

}  // namespace grainless::cuda
