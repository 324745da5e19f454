// SPDX-License-Identifier: MIT
// Compiled without contraction to fused multiply-add: the same estimate leaves the same picture and
// shares on every backend.
#include "noise_left.cuh"

#include "cuda/runtime/launch.h"
#include "engine/boundary/bm3d_math.h"

namespace grainless::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTileWidth = 64, kTileHeight = 16;  // a block's pixels
constexpr int kAround = 2 * kShareRadius;

struct Plane {
  float* pixels;  // at a rectangle's first one
  int stride;

  __device__ float& at(int x, int y) const { return pixels[static_cast<size_t>(y) * stride + x]; }
};

Plane part_of(const DevicePlanes& planes, int c, const Rect& rect) {
  const ptrdiff_t at =
      static_cast<ptrdiff_t>(rect.y - planes.rect.y) * planes.stride + rect.x - planes.rect.x;
  return {planes.plane(c) + at, planes.stride};
}

struct LeaveArgs {
  Plane estimate, before, share, out;  // share without pixels: all of the noise
  int width, height;
  float least;
};

__global__ void leave_picture(const LeaveArgs args) {
  const int x = blockIdx.x * kTileWidth + threadIdx.x % kTileWidth;
  for (int i = threadIdx.x / kTileWidth; i < kTileHeight; i += kThreads / kTileWidth) {
    const int y = blockIdx.y * kTileHeight + i;
    if (x >= args.width || y >= args.height) return;
    const float estimate = args.estimate.at(x, y);
    const bool all = args.share.pixels == nullptr;
    const float part = all ? args.least : args.least / args.share.at(x, y);
    args.out.at(x, y) = estimate + part * (args.before.at(x, y) - estimate);
  }
}

struct ShareArgs {
  Plane noisy, left, out;
  int width, height;
  float sigma, least;
};

// Pixels of 0..count-1 within kShareRadius of i.
__device__ int counted(int i, int count) {
  return min(i + kShareRadius + 1, count) - max(i - kShareRadius, 0);
}

// Sums of squares along rows and then down the columns, 0 outside.
__global__ void __launch_bounds__(kThreads) measure_share(const __grid_constant__ ShareArgs args) {
  constexpr int kWidth = kTileWidth + kAround, kHeight = kTileHeight + kAround;
  __shared__ float squares[kHeight][kWidth], rows[kHeight][kTileWidth];
  const int x0 = blockIdx.x * kTileWidth, y0 = blockIdx.y * kTileHeight;
  for (int i = threadIdx.x; i < kWidth * kHeight; i += kThreads) {
    const int x = x0 + i % kWidth - kShareRadius, y = y0 + i / kWidth - kShareRadius;
    const bool inside = x >= 0 && x < args.width && y >= 0 && y < args.height;
    const float lost = inside ? args.noisy.at(x, y) - args.left.at(x, y) : 0.0f;
    squares[i / kWidth][i % kWidth] = lost * lost;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTileWidth * kHeight; i += kThreads) {
    const int x = i % kTileWidth, y = i / kTileWidth;
    float sum = squares[y][x];
    for (int k = 1; k <= kAround; ++k) sum += squares[y][x + k];
    rows[y][x] = sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTileWidth * kTileHeight; i += kThreads) {
    const int tx = i % kTileWidth, ty = i / kTileWidth, x = x0 + tx, y = y0 + ty;
    if (x >= args.width || y >= args.height) continue;
    float sum = rows[ty][tx];
    for (int k = 1; k <= kAround; ++k) sum += rows[ty + k][tx];
    const int pixels = counted(x, args.width) * counted(y, args.height);
    args.out.at(x, y) = noise_share(sum, pixels, args.sigma, args.least);
  }
}

}  // namespace

void NoiseLeft::leave(const DevicePlanes& estimate, const Bm3dStage& next, cudaStream_t stream) {
  const Rect& rect = estimate.rect;
  const LaunchShape shape{dim3((rect.width + kTileWidth - 1) / kTileWidth,
                               (rect.height + kTileHeight - 1) / kTileHeight),
                          kThreads, 0, stream};
  for (int c = 0; c < estimate.channels; ++c) {
    const Plane share = part_of(share_, c, rect), left = part_of(picture_, c, rect);
    launch("leaving noise", leave_picture, shape,
           LeaveArgs{part_of(estimate, c, rect), part_of(picture(), c, rect),
                     lost_ ? share : Plane{}, left, rect.width, rect.height, next.share});
    launch("what noise is left", measure_share, shape,
           ShareArgs{part_of(noisy_, c, rect), left, share, rect.width, rect.height, next.sigma[c],
                     next.share});
  }
  lost_ = true;
}

}  // namespace grainless::cuda
