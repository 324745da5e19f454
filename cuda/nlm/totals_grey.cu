// SPDX-License-Identifier: MIT
#include "rows.cuh"

namespace grainless::cuda {

NlmRows nlm_totals_grey(int patch) {
  return nlm_rows_for<1, 1, 0>(patch);
}

}  // namespace grainless::cuda
