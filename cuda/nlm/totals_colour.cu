// SPDX-License-Identifier: MIT
#include "rows.cuh"

namespace grainless::cuda {

NlmRows nlm_totals_colour(int patch) {
  return nlm_rows_for<3, 1, 0>(patch);
}

}  // namespace grainless::cuda
