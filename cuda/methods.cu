// SPDX-License-Identifier: MIT
#include "methods.cuh"

#include <string>

#include "cuda/bm3d/bm3d.cuh"
#include "cuda/dct/dct.cuh"
#include "cuda/nlm/nlm.cuh"
#include "cuda/sw_nlm/sw_nlm.cuh"
#include "engine/boundary/status.h"

namespace grainless::cuda {
namespace {

constexpr CudaMethod kMethods[] = {
    {Method::kBm3d, run_bm3d, bm3d_scratch_bytes, expect_bm3d},
    {Method::kNlm, run_nlm, nlm_scratch_bytes, expect_nlm},
    {Method::kSwNlm, run_sw_nlm, sw_nlm_scratch_bytes, expect_sw_nlm},
    {Method::kDct, run_dct, dct_scratch_bytes, expect_dct}};

}  // namespace

const CudaMethod& cuda_method(int32_t method) {
  for (const CudaMethod& row : kMethods) {
    if (static_cast<int32_t>(row.method) == method) return row;
  }
  throw Error(ErrorCode::kUnsupported, "the card has no method " + std::to_string(method));
}

}  // namespace grainless::cuda
