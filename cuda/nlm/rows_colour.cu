// SPDX-License-Identifier: MIT
#include "rows.cuh"

namespace grainless::cuda {

NlmRows nlm_rows_colour(int patch) {
  return nlm_rows_for<3, 1, 3>(patch);
}

}  // namespace grainless::cuda
