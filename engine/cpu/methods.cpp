// SPDX-License-Identifier: MIT
#include "methods.h"

#include "engine/boundary/status.h"
#include "engine/cpu/bm3d/bm3d.h"
#include "engine/cpu/dct/dct.h"
#include "engine/cpu/nlm/nlm.h"
#include "engine/cpu/sw_nlm/sw_nlm.h"

namespace grainless {
namespace {

constexpr CpuMethod kMethods[] = {{Method::kBm3d, run_bm3d, bm3d_bytes},
                                  {Method::kNlm, run_nlm, nlm_bytes},
                                  {Method::kSwNlm, run_sw_nlm, sw_nlm_bytes},
                                  {Method::kDct, run_dct, dct_bytes}};

}  // namespace

const CpuMethod& cpu_method(int32_t method) {
  for (const CpuMethod& row : kMethods) {
    if (static_cast<int32_t>(row.method) == method) return row;
  }
  throw Error(ErrorCode::kInternal, "unknown method");
}

}  // namespace grainless
