// SPDX-License-Identifier: MIT
// Match values, patch areas and reflected borders of Non-Local Means. Compiled without contraction:
// match values are the CPU's to the bit.
#include "args.cuh"
#include "cuda/runtime/launch.h"
#include "engine/boundary/pixel_math.h"

namespace grainless::cuda {
namespace {

constexpr int kTileX = 64, kTileY = 16;                   // pixels a block
constexpr int kThreads = 256, kRows = kThreads / kTileX;  // rows at once
constexpr int kWideX = kTileX + kMaxPatch - 1, kWideY = kTileY + kMaxPatch - 1;

__device__ int clamp_index(int i, int first, int size) {
  return min(max(i, first), first + size - 1);
}

// Most pixels need no reflection, whose remainder costs more than all else here.
__device__ int reflected(int i, int size) {
  return i >= 0 && i < size ? i : reflect(i, size);
}

// Where the padded planes' columns and rows are in a source plane. Padding that no result depends
// on may lie outside of the source, and reads some pixel of it.
__device__ int source_column(const NlmArgs& a, int column) {
  const int x = reflected(a.x0 + column, a.image_width);
  return clamp_index(x, a.source.rect.x, a.source.rect.width) - a.source.rect.x;
}
__device__ size_t source_row(const NlmArgs& a, int row) {
  const int y = reflected(a.y0 + row, a.image_height);
  const int at = clamp_index(y, a.source.rect.y, a.source.rect.height) - a.source.rect.y;
  return static_cast<size_t>(at) * a.source.stride;
}

template <int kChannels>
__device__ void load_pixel(const NlmArgs& a, size_t index, float (&pixel)[kChannels]) {
#pragma unroll
  for (int c = 0; c < kChannels; ++c) pixel[c] = __ldg(a.source.plane(c) + index);
}

template <int kChannels>
__device__ void match_of(const NlmArgs& a, const float (&pixel)[kChannels],
                         int (&match)[kChannels]) {
#pragma unroll
  for (int c = 0; c < kChannels; ++c) match[c] = match_value(pixel[c], a.plan.match[c]);
  if (kChannels == 3) match[0] += kNlmLift;
}

__device__ unsigned packed_match(const int (&match)[1]) {
  return match[0];
}
__device__ uint2 packed_match(const int (&match)[3]) {
  return make_uint2(match[0] | (match[1] << 16), match[2]);
}

template <int kSummed, int kChannels>
__device__ typename NlmValue<kSummed>::Type value_of(const float (&pixel)[kChannels],
                                                     unsigned area) {
  if constexpr (kSummed == 0) {
    return area;
  } else if constexpr (kSummed == 1) {
    return make_float2(pixel[0], __uint_as_float(area));
  } else {
    return make_float4(pixel[0], pixel[1], pixel[2], __uint_as_float(area));
  }
}

template <typename T>
__device__ void store(const void* plane, size_t at, const T& element) {
  static_cast<T*>(const_cast<void*>(plane))[at] = element;
}

// Sum of kPatch or `patch` elements, `step` apart.
template <int kPatch>
__device__ unsigned sum_of(const unsigned* from, int patch, int step) {
  unsigned sum = 0;
  if constexpr (kPatch > 0) {
#pragma unroll
    for (int k = 0; k < kPatch; ++k) sum += from[k * step];
  } else {
    for (int k = 0; k < patch; ++k) sum += from[k * step];
  }
  return sum;
}

// A block writes kTileX x kTileY pixels of the padded planes; a thread has a column in turns. Small
// pictures are one wave of blocks, whose time is that of loads one after the other: as many as can
// be asked for at once are.
template <int kPatch, int kChannels, int kSummed>
__global__ void __launch_bounds__(kThreads) prepare_kernel(const NlmArgs a) {
  __shared__ unsigned squares[kWideY][kWideX + 1];
  __shared__ unsigned row_sums[kWideY][kTileX];
  __shared__ size_t row_at[kWideY];
  constexpr int kAtOnce = kTileY / kRows;
  const int left = blockIdx.x * kTileX, top = blockIdx.y * kTileY;
  const int patch = kPatch > 0 ? kPatch : a.plan.patch, low = patch / 2, extra = patch - 1;
  const int wide_y = kTileY + extra;
  const int x = threadIdx.x, thread = threadIdx.y * kTileX + x;
  if (thread < wide_y) row_at[thread] = source_row(a, top + thread - low);
  const int column = source_column(a, left + x - low);
  __syncthreads();

  const auto square = [&](int at_x, int at_y, const float(&pixel)[kChannels]) {
    int match[kChannels];
    match_of(a, pixel, match);
    unsigned sum = 0;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) sum += 1u * match[c] * match[c];
    squares[at_y][at_x] = sum;
  };
  float pixel[kAtOnce][kChannels];
#pragma unroll
  for (int first = 0; first < wide_y; first += kTileY) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int y = first + threadIdx.y + i * kRows;
      load_pixel(a, row_at[min(y, wide_y - 1)] + column, pixel[i]);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int y = first + threadIdx.y + i * kRows;
      if (y < wide_y) square(x, y, pixel[i]);
    }
  }
  for (int i = thread; i < extra * wide_y; i += kThreads) {
    const int at_x = kTileX + i % extra, at_y = i / extra;
    load_pixel(a, row_at[at_y] + source_column(a, left + at_x - low), pixel[0]);
    square(at_x, at_y, pixel[0]);
  }
  __syncthreads();

#pragma unroll
  for (int y = threadIdx.y; y < wide_y; y += kRows) {
    row_sums[y][x] = sum_of<kPatch>(squares[y] + x, patch, 1);
  }
  const int own_column = source_column(a, left + x);
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) {
    load_pixel(a, row_at[threadIdx.y + i * kRows + low] + own_column, pixel[i]);
  }
  __syncthreads();

  if (left + x >= a.columns) return;
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) {
    const int y = threadIdx.y + i * kRows, row = top + y;
    if (row >= a.rows) return;
    const unsigned area = kNlmBias / 2 + sum_of<kPatch>(&row_sums[y][x], patch, kTileX);
    int match[kChannels];
    match_of(a, pixel[i], match);
    const size_t at = static_cast<size_t>(row) * a.pitch + left + x;
    store(a.match, at, packed_match(match));
    store(a.values, at, value_of<kSummed>(pixel[i], area));
  }
}

template <int kChannels, int kSummed>
NlmKernel prepare_for(int patch) {
  switch (patch) {
    case 3:
      return prepare_kernel<3, kChannels, kSummed>;
    case 5:
      return prepare_kernel<5, kChannels, kSummed>;
    case 7:
      return prepare_kernel<7, kChannels, kSummed>;
    case 9:
      return prepare_kernel<9, kChannels, kSummed>;
    default:
      return prepare_kernel<0, kChannels, kSummed>;
  }
}

}  // namespace

void nlm_prepare(const NlmArgs& args, cudaStream_t stream) {
  const dim3 grid((args.columns + kTileX - 1) / kTileX, (args.rows + kTileY - 1) / kTileY);
  const bool colour = args.source.channels == 3, areas = args.only_areas();
  const auto kernel = colour ? (areas ? prepare_for<3, 0> : prepare_for<3, 3>)
                             : (areas ? prepare_for<1, 0> : prepare_for<1, 1>);
  launch("nlm_prepare", kernel(args.plan.patch), {grid, dim3(kTileX, kRows), 0, stream}, args);
}

}  // namespace grainless::cuda
