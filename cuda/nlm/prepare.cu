// SPDX-License-Identifier: MIT
// Match values, patch areas and reflected borders of Non-Local Means. Compiled without contraction:
// match values are the CPU's to the bit.
#include "args.cuh"
#include "cuda/runtime/launch.h"
#include "engine/boundary/pixel_math.h"

namespace grainless::cuda {
namespace {

constexpr int kTileX = 64, kTileY = 16;  // pixels a block
constexpr int kThreads = 256;
constexpr int kWideX = kTileX + kMaxPatch - 1, kWideY = kTileY + kMaxPatch - 1;

__device__ int clamp_index(int i, int first, int size) {
  return min(max(i, first), first + size - 1);
}

// Most pixels need no reflection, whose remainder costs more than all else here.
__device__ int reflected(int i, int size) {
  return i >= 0 && i < size ? i : reflect(i, size);
}

// Index within a source plane of the padded planes' pixel. Padding that no result depends on may
// lie outside of the source, and reads some pixel of it.
__device__ size_t source_index(const NlmArgs& a, int column, int row) {
  const int x = reflected(a.x0 + column, a.image_width);
  const int y = reflected(a.y0 + row, a.image_height);
  const Rect& rect = a.source.rect;
  return static_cast<size_t>(clamp_index(y, rect.y, rect.height) - rect.y) * a.source.stride +
         (clamp_index(x, rect.x, rect.width) - rect.x);
}

template <int kChannels>
__device__ void match_at(const NlmArgs& a, size_t index, int (&match)[kChannels]) {
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    match[c] = match_value(a.source.plane(c)[index], a.plan.match[c]);
  }
  if (kChannels == 3) match[0] += kNlmLift;
}

__device__ unsigned packed_match(const int (&match)[1]) {
  return match[0];
}
__device__ uint2 packed_match(const int (&match)[3]) {
  return make_uint2(match[0] | (match[1] << 16), match[2]);
}

template <int kSummed>
__device__ typename NlmValue<kSummed>::Type value_at(const NlmArgs& a, size_t index,
                                                     unsigned area) {
  if constexpr (kSummed == 0) {
    return area;
  } else if constexpr (kSummed == 1) {
    return make_float2(a.source.plane(0)[index], __uint_as_float(area));
  } else {
    return make_float4(a.source.plane(0)[index], a.source.plane(1)[index], a.source.plane(2)[index],
                       __uint_as_float(area));
  }
}

template <typename T>
__device__ void store(const void* plane, size_t at, const T& element) {
  static_cast<T*>(const_cast<void*>(plane))[at] = element;
}

// A block writes kTileX x kTileY pixels of the padded planes; a thread has a column in turns.
template <int kChannels, int kSummed>
__global__ void __launch_bounds__(kThreads) prepare_kernel(const NlmArgs a) {
  __shared__ unsigned squares[kWideY][kWideX + 1];
  __shared__ unsigned row_sums[kWideY][kTileX];
  const int left = blockIdx.x * kTileX, top = blockIdx.y * kTileY;
  const int wide_x = kTileX + a.plan.patch - 1, wide_y = kTileY + a.plan.patch - 1;
  for (int x = threadIdx.x; x < wide_x; x += kTileX) {
    for (int y = threadIdx.y; y < wide_y; y += kThreads / kTileX) {
      int match[kChannels];
      match_at(a, source_index(a, left + x - a.low, top + y - a.low), match);
      unsigned square = 0;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) square += 1u * match[c] * match[c];
      squares[y][x] = square;
    }
  }
  __syncthreads();
  const int x = threadIdx.x, column = left + x;
  for (int y = threadIdx.y; y < wide_y; y += kThreads / kTileX) {
    unsigned sum = 0;
    for (int k = 0; k < a.plan.patch; ++k) sum += squares[y][x + k];
    row_sums[y][x] = sum;
  }
  __syncthreads();
  if (column >= a.columns) return;
  for (int y = threadIdx.y; y < kTileY; y += kThreads / kTileX) {
    const int row = top + y;
    if (row >= a.rows) return;
    unsigned area = kNlmBias / 2;
    for (int k = 0; k < a.plan.patch; ++k) area += row_sums[y + k][x];
    const size_t index = source_index(a, column, row);
    int match[kChannels];
    match_at(a, index, match);
    const size_t at = static_cast<size_t>(row) * a.pitch + column;
    store(a.match, at, packed_match(match));
    store(a.values, at, value_at<kSummed>(a, index, area));
  }
}

}  // namespace

void nlm_prepare(const NlmArgs& args, cudaStream_t stream) {
  const dim3 grid((args.columns + kTileX - 1) / kTileX, (args.rows + kTileY - 1) / kTileY);
  const bool colour = args.source.channels == 3, areas = args.only_areas();
  const auto kernel = colour ? (areas ? prepare_kernel<3, 0> : prepare_kernel<3, 3>)
                             : (areas ? prepare_kernel<1, 0> : prepare_kernel<1, 1>);
  launch("nlm_prepare", kernel, {grid, dim3(kTileX, kThreads / kTileX), 0, stream}, args);
}

}  // namespace grainless::cuda
