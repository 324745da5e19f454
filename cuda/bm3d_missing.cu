// SPDX-License-Identifier: MIT
#include "engine/status.h"
#include "method.cuh"

namespace grainless::cuda {

void run_bm3d(const MethodJob&) {
  throw Error(ErrorCode::kDeviceUnavailable, "no BM3D kernels yet");
}
size_t bm3d_scratch_bytes(const LevelPlan&, int, int, int) {
  return 0;
}

}  // namespace grainless::cuda
