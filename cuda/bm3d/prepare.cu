// SPDX-License-Identifier: MIT
// Compiled without contraction to fused multiply-add, as engine/boundary/pixel_math.h asks.
#include <algorithm>

#include "cuda/runtime/launch.h"
#include "engine/boundary/pixel_math.h"
#include "match.cuh"

namespace grainless::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void match_values(const float* source, int stride, int width, int height,
                             const MatchCurve curve, int16_t* out) {
  const int x = blockIdx.x * kThreads + threadIdx.x;
  if (x >= width) return;
  for (int y = blockIdx.y; y < height; y += gridDim.y) {
    const float value = source[static_cast<size_t>(y) * stride + x];
    out[static_cast<size_t>(y) * width + x] = static_cast<int16_t>(match_value(value, curve));
  }
}

// A channel's estimate: noisy - (mean of what was removed) * ratio.
struct Estimate {
  const float* noisy;  // at out's first pixel
  float* out;
  int noisy_stride, out_stride, width, height;
  float ratio;

  __device__ void set(int x, int y, float mean) const {
    out[static_cast<size_t>(y) * out_stride + x] =
        noisy[static_cast<size_t>(y) * noisy_stride + x] - mean * ratio;
  }
};

__global__ void finish(const PixelSums* sums, const Estimate estimate) {
  const int x = blockIdx.x * kThreads + threadIdx.x, width = estimate.width;
  if (x >= width) return;
  for (int y = blockIdx.y; y < estimate.height; y += gridDim.y) {
    const PixelSums pixel = sums[static_cast<size_t>(y) * width + x];
    const float removed = static_cast<float>(static_cast<long long>(pixel.removed));
    estimate.set(x, y, removed / static_cast<float>(static_cast<long long>(pixel.weight)));
  }
}

constexpr int kTileWidth = 64, kTileHeight = 16;  // a block's pixels

struct FinishArgs {
  PatchSums sums;
  Estimate estimate;
  int left, top, map_width;  // out's first pixel in the map
  float kaiser[kMaxPatch];
};

__device__ float map_weight(const FinishArgs& args, int x, int y) {
  const Estimate& estimate = args.estimate;
  const bool inside =
      x >= 0 && x < args.left + estimate.width && y >= 0 && y < args.top + estimate.height;
  if (!inside) return 0.0f;
  return static_cast<float>(args.sums.weight[static_cast<size_t>(y) * args.map_width + x]);
}

// A pixel's weight is the sum of w * kaiser over the patches that it lies in, in the order of
// engine/boundary/bm3d_math.h. They begin up to kReach pixels before it.
template <int kReach>
__global__ void __launch_bounds__(kThreads)
    finish_patches(const __grid_constant__ FinishArgs args) {
  constexpr int kMapWidth = kTileWidth + kReach, kMapHeight = kTileHeight + kReach;
  __shared__ float map[kMapHeight][kMapWidth], columns[kTileHeight][kMapWidth];
  const Estimate& estimate = args.estimate;
  const int x0 = blockIdx.x * kTileWidth, y0 = blockIdx.y * kTileHeight;
  for (int i = threadIdx.x; i < kMapWidth * kMapHeight; i += kThreads) {
    const int x = i % kMapWidth, y = i / kMapWidth;
    map[y][x] = map_weight(args, x0 + x + args.left - kReach, y0 + y + args.top - kReach);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kMapWidth * kTileHeight; i += kThreads) {
    const int x = i % kMapWidth, y = i / kMapWidth;
    float sum = 0;
    for (int k = 0; k <= kReach; ++k) sum += args.kaiser[k] * map[y + kReach - k][x];
    columns[y][x] = sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTileWidth * kTileHeight; i += kThreads) {
    const int tx = i % kTileWidth, ty = i / kTileWidth, x = x0 + tx, y = y0 + ty;
    if (x >= estimate.width || y >= estimate.height) continue;
    float weight = 0;
    for (int k = 0; k <= kReach; ++k) weight += args.kaiser[k] * columns[ty][tx + kReach - k];
    const unsigned long long removed =
        args.sums.removed[static_cast<size_t>(y) * estimate.width + x];
    estimate.set(x, y, static_cast<float>(static_cast<long long>(removed)) / weight);
  }
}

Estimate estimate_of(const StageJob& job, int c, float ratio) {
  const Rect &rect = job.out.rect, &from = job.noisy.rect;
  const float* noisy = job.noisy.plane(c) +
                       static_cast<size_t>(rect.y - from.y) * job.noisy.stride + rect.x - from.x;
  return {noisy, job.out.plane(c), job.noisy.stride, job.out.stride, rect.width, rect.height,
          ratio};
}

// Rows of blocks stand for one row of pixels each, or more than one in a tall rectangle.
LaunchShape row_by_row(const Rect& rect, cudaStream_t stream) {
  const dim3 blocks((rect.width + kThreads - 1) / kThreads, std::min(rect.height, kMostGridRows));
  return {blocks, kThreads, 0, stream};
}

}  // namespace

void finish_channel_of_patches(const StageJob& job, int c, float ratio) {
  const Rect &rect = job.out.rect, map = job.map_rect();
  FinishArgs args{
      job.patch_sums(), estimate_of(job, c, ratio), rect.x - map.x, rect.y - map.y, map.width, {}};
  std::copy_n(job.stage->kaiser, job.stage->patch, args.kaiser);
  const dim3 blocks((rect.width + kTileWidth - 1) / kTileWidth,
                    (rect.height + kTileHeight - 1) / kTileHeight);
  const auto kernel = job.stage->patch > 8 ? finish_patches<kMaxPatch - 1> : finish_patches<7>;
  launch("BM3D estimate", kernel, {blocks, kThreads, 0, job.method->stream}, args);
}

void finish_channel(const StageJob& job, int c, float ratio) {
  const Rect& rect = job.out.rect;
  launch("BM3D estimate", finish, row_by_row(rect, job.method->stream), job.sums,
         estimate_of(job, c, ratio));
}

void fill_match_plane(const StageJob& job) {
  const DevicePlanes& matched = job.matched();
  const Rect& rect = matched.rect;
  launch("BM3D match values", match_values, row_by_row(rect, job.method->stream), matched.data,
         matched.stride, rect.width, rect.height, job.stage->match, job.match_plane);
}

}  // namespace grainless::cuda
