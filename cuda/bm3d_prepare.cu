// SPDX-License-Identifier: MIT
// Compiled without contraction to fused multiply-add, as pixel_math.h asks.
#include <algorithm>

#include "bm3d_match.cuh"
#include "check.h"
#include "engine/pixel_math.h"

namespace grainless::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void match_values(const float* source, int stride, int width, int height, float centre,
                             float scale, int16_t* out) {
  const int x = blockIdx.x * kThreads + threadIdx.x;
  if (x >= width) return;
  for (int y = blockIdx.y; y < height; y += gridDim.y) {
    const float value = source[static_cast<size_t>(y) * stride + x];
    out[static_cast<size_t>(y) * width + x] =
        static_cast<int16_t>(match_value(value, centre, scale));
  }
}

__global__ void finish(const PixelSums* sums, const float* noisy, int noisy_stride, float* out,
                       int out_stride, int width, int height, float ratio) {
  const int x = blockIdx.x * kThreads + threadIdx.x;
  if (x >= width) return;
  for (int y = blockIdx.y; y < height; y += gridDim.y) {
    const PixelSums pixel = sums[static_cast<size_t>(y) * width + x];
    const float removed = static_cast<float>(static_cast<long long>(pixel.removed));
    const float mean = removed / static_cast<float>(static_cast<long long>(pixel.weight));
    out[static_cast<size_t>(y) * out_stride + x] =
        noisy[static_cast<size_t>(y) * noisy_stride + x] - mean * ratio;
  }
}

}  // namespace

void finish_channel(const StageJob& job, int c, float ratio) {
  const Rect &rect = job.out.rect, &from = job.noisy.rect;
  const float* noisy = job.noisy.plane(c) +
                       static_cast<size_t>(rect.y - from.y) * job.noisy.stride + rect.x - from.x;
  const dim3 blocks((rect.width + kThreads - 1) / kThreads, std::min(rect.height, 65535));
  finish<<<blocks, kThreads, 0, job.method->stream>>>(job.sums, noisy, job.noisy.stride,
                                                      job.out.plane(c), job.out.stride, rect.width,
                                                      rect.height, ratio);
  check_launch("BM3D estimate");
}

void fill_match_plane(const StageJob& job) {
  const DevicePlanes& matched = job.matched();
  const Rect& rect = matched.rect;
  const dim3 blocks((rect.width + kThreads - 1) / kThreads, std::min(rect.height, 65535));
  match_values<<<blocks, kThreads, 0, job.method->stream>>>(
      matched.data, matched.stride, rect.width, rect.height, job.stage->match_centre,
      job.stage->match_scale, job.match_plane);
  check_launch("BM3D match values");
}

}  // namespace grainless::cuda
