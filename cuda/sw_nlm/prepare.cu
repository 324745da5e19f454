// SPDX-License-Identifier: MIT
// Match values and reflected borders of Shapiro-Wilk NLM. Compiled without contraction: match
// values are the CPU's to the bit.
#include "args.cuh"
#include "cuda/runtime/launch.h"
#include "engine/boundary/pixel_math.h"

namespace grainless::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void prepare_kernel(const SwNlmArgs a) {
  const int column = blockIdx.y * kThreads + threadIdx.x, row = blockIdx.x, c = blockIdx.z;
  if (column >= a.pitch) return;
  const Rect& rect = a.source.rect;
  // The last tile reads what no result depends on, up to the row's end.
  const int x = reflect(a.x0 + min(column, a.columns - 1), a.image_width);
  const int y = reflect(a.y0 + row, a.image_height);
  const float value =
      a.source.plane(c)[static_cast<size_t>(y - rect.y) * a.source.stride + (x - rect.x)];
  const size_t at = c * a.plane + static_cast<size_t>(row) * a.pitch + column;
  const_cast<int16_t*>(a.match)[at] = static_cast<int16_t>(match_value(value, a.plan.match[c]));
  const_cast<float*>(a.values)[at] = value;
}

}  // namespace

void sw_nlm_prepare(const SwNlmArgs& args, cudaStream_t stream) {
  const dim3 grid(args.rows, (args.pitch + kThreads - 1) / kThreads, args.channels);
  launch("sw_nlm_prepare", prepare_kernel, {grid, kThreads, 0, stream}, args);
}

}  // namespace grainless::cuda
