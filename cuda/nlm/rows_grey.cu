// SPDX-License-Identifier: MIT
#include "rows.cuh"

namespace grainless::cuda {

NlmRows nlm_rows_grey(int patch) {
  return nlm_rows_for<1, 1, 1>(patch);
}

}  // namespace grainless::cuda
