// SPDX-License-Identifier: MIT
// The ridge filter (engine/boundary/plan.h: GroupRule::kRidge), a warp a group: lane i holds patch
// i and row i of the matrix, columns are exchanged through shared memory.
#include <algorithm>

#include "aggregate.cuh"
#include "cuda/frame/warp.cuh"
#include "cuda/runtime/check.h"
#include "engine/boundary/bm3d_math.h"
#include "select.cuh"
#include "stage.cuh"

namespace grainless::cuda {
namespace {

constexpr int kWarps = 4;  // of a block

struct RidgeArgs {
  DevicePlanes noisy, pilot, out;
  ReferenceGrid grid;
  const uint16_t* groups;
  PixelSums* sums;
  int row, rows;  // of the grid, in this launch
  int channel;
  StagePart stage;
  float variance;
  float kaiser[kMaxPatch];
};

// One warp's part of shared memory: a row of the patches' pixels, and a column of the matrix.
struct WarpShared {
  alignas(16) float pixels[kMaxPatch][kMaxGroup];
  alignas(16) float column[kMaxGroup];
};

// A lane's patch of one plane; null beyond the group's end.
struct LanePatch {
  const float* at;
  int stride;
  float base;  // subtracted from its pixels

  __device__ float pixel(int x, int y) const {
    return at != nullptr ? at[static_cast<size_t>(y) * stride + x] - base : 0.0f;
  }
};

__device__ LanePatch lane_patch(const DevicePlanes& planes, int channel, int x, int y,
                                bool exists) {
  const size_t offset = static_cast<size_t>(y - planes.rect.y) * planes.stride + x - planes.rect.x;
  return {exists ? planes.plane(channel) + offset : nullptr, planes.stride, 0.0f};
}

// Makes the group's mean the base, in two steps so that little is lost of a bright patch.
__device__ void subtract_mean(LanePatch& lane, float near, int patch, int count) {
  lane.base = near;
  float sum = 0;
  for (int y = 0; y < patch; ++y) {
    for (int x = 0; x < patch; ++x) sum += lane.pixel(x, y);
  }
  lane.base += warp_sum(sum) / static_cast<float>(count * patch * patch);
}

// Calls body(x, values) for each pixel of patch row y, values being those of all patches.
template <typename Body>
__device__ __forceinline__ void for_row(const LanePatch& lane, int patch, int y, WarpShared& shared,
                                        const Body& body) {
  __syncwarp();
  for (int x = 0; x < patch; ++x) shared.pixels[x][threadIdx.x % 32] = lane.pixel(x, y);
  __syncwarp();
  for (int x = 0; x < patch; ++x) body(x, shared.pixels[x]);
}

// sum over j of row[j] * values[j]
__device__ __forceinline__ float dot(const float (&row)[kMaxGroup], const float* values) {
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kMaxGroup; j += 4) {
    const float4 v = *reinterpret_cast<const float4*>(values + j);
    sum = fmaf(row[j], v.x, sum);
    sum = fmaf(row[j + 1], v.y, sum);
    sum = fmaf(row[j + 2], v.z, sum);
    sum = fmaf(row[j + 3], v.w, sum);
  }
  return sum;
}

// row += factor * values
__device__ __forceinline__ void add_scaled(float (&row)[kMaxGroup], float factor,
                                           const float* values) {
#pragma unroll
  for (int j = 0; j < kMaxGroup; j += 4) {
    const float4 v = *reinterpret_cast<const float4*>(values + j);
    row[j] = fmaf(factor, v.x, row[j]);
    row[j + 1] = fmaf(factor, v.y, row[j + 1]);
    row[j + 2] = fmaf(factor, v.z, row[j + 2]);
    row[j + 3] = fmaf(factor, v.w, row[j + 3]);
  }
}

// The matrix becomes minus its inverse, by symmetric sweeps of all its pivots; it is positive
// definite with no eigenvalue under `least`.
__device__ __forceinline__ void invert(float (&row)[kMaxGroup], int count, float least,
                                       WarpShared& shared) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int p = 0; p < kMaxGroup; ++p) {
    if (p >= count) continue;
    __syncwarp();
    shared.column[lane] = row[p];
    __syncwarp();
    const float r = 1.0f / fmaxf(shared.column[p], least);
    const float factor = lane == p ? -r : row[p] * r;
    if (lane == p) {
#pragma unroll
      for (float& entry : row) entry = 0;
    }
    add_scaled(row, -factor, shared.column);
    row[p] = factor;
  }
}

// Weight of the lane's patch in the aggregation; row: T - 1.
__device__ float weight_of(const float (&row)[kMaxGroup], int count, int pixels) {
  float sum = 1.0f / static_cast<float>(count * pixels);
#pragma unroll
  for (int j = 0; j < kMaxGroup; ++j) {
    const float t = row[j] + (j == threadIdx.x % 32 ? 1.0f : 0.0f);
    sum = fmaf(t, t, sum);
  }
  return 1.0f / fminf(fmaxf(sum, 1.0f / static_cast<float>(count)), 1.0f);
}

// T - 1 of the group, whose pilot is given.
__device__ __forceinline__ void make_filter(const LanePatch& pilot, const RidgeArgs& args,
                                            int count, WarpShared& shared,
                                            float (&row)[kMaxGroup]) {
  const int lane = threadIdx.x % 32;
  const float nv = static_cast<float>(args.stage.patch * args.stage.patch) * args.variance;
#pragma unroll
  for (float& entry : row) entry = 0;
  for (int y = 0; y < args.stage.patch; ++y) {
    for_row(pilot, args.stage.patch, y, shared,
            [&](int, const float* values) { add_scaled(row, values[lane], values); });
  }
  float own = 0;
#pragma unroll
  for (int j = 0; j < kMaxGroup; ++j) own = j == lane && lane < count ? row[j] : own;
  const float energy = warp_sum(own), ridge = ridge_of(nv, energy);
#pragma unroll
  for (int j = 0; j < kMaxGroup; ++j) row[j] += j == lane && lane < count ? ridge : 0.0f;
  // Energies beyond float's range: nothing is removed.
  const bool finite = energy <= kMostRidgeEnergy;
  if (finite) invert(row, count, ridge, shared);
#pragma unroll
  for (float& entry : row) entry = finite ? entry * nv : 0.0f;
}

__global__ void __launch_bounds__(kWarps * 32)
    filter_groups_ridge(const __grid_constant__ RidgeArgs args) {
  __shared__ WarpShared all[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int number = blockIdx.x * kWarps + warp;
  if (number >= args.grid.columns * args.rows) return;
  const int column = number % args.grid.columns, row_number = args.row + number / args.grid.columns;
  const uint16_t* entries =
      args.groups +
      (static_cast<size_t>(row_number) * args.grid.columns + column) * args.stage.group;
  const int entry = lane < args.stage.group ? entries[lane] : kNoPatch;
  const int count = __popc(__ballot_sync(kFullWarp, entry != kNoPatch));
  const int x = args.grid.x(args.grid.column + column) - args.stage.radius + (entry & 63);
  const int y = args.grid.y(args.grid.row + row_number) - args.stage.radius + (entry >> 6);
  LanePatch pilot = lane_patch(args.pilot, args.channel, x, y, lane < count);
  LanePatch noisy = lane_patch(args.noisy, args.channel, x, y, lane < count);
  const float near = __shfl_sync(kFullWarp, pilot.pixel(0, 0), 0);
  subtract_mean(pilot, near, args.stage.patch, count);
  subtract_mean(noisy, near, args.stage.patch, count);
  float row[kMaxGroup];
  make_filter(pilot, args, count, all[warp], row);
  const float weight = weight_of(row, count, args.stage.patch * args.stage.patch);
  const Rect& out = args.out.rect;
  for (int py = 0; py < args.stage.patch; ++py) {
    for_row(noisy, args.stage.patch, py, all[warp], [&](int px, const float* values) {
      const float removed = -dot(row, values);
      const int ox = x + px - out.x, oy = y + py - out.y;
      if (lane >= count || ox < 0 || ox >= out.width || oy < 0 || oy >= out.height) return;
      const float w = weight * args.kaiser[py] * args.kaiser[px];
      add_to_pixel(args.sums + static_cast<size_t>(oy) * out.width + ox, w * removed, w);
    });
  }
}

}  // namespace

void filter_stage_ridge(const StageJob& job, int c, const ProgressSpan& progress) {
  const Bm3dStage& stage = *job.stage;
  RidgeArgs args{job.noisy, job.pilot, job.out, job.grid,       job.groups,      job.sums,
                 0,         0,         c,       part_of(stage), stage.shrink[c], {}};
  std::copy_n(stage.kaiser, stage.patch, args.kaiser);
  // The work of a group grows with its patches' pixels.
  const int size = std::max(1, stage.patch * stage.patch / 32);
  const int references = kReferencesPerMultiprocessor * job.limits.multiprocessors / size;
  const int rows = std::max(1, references / job.grid.columns);
  launch_in_bands(*job.method, {job.grid.rows, rows, progress}, [&](const Band& band) {
    args.row = band.first;
    args.rows = band.count;
    const int groups = job.grid.columns * band.count;
    launch("BM3D ridge filter", filter_groups_ridge,
           {(groups + kWarps - 1) / kWarps, kWarps * 32, 0, job.method->stream}, args);
  });
}

}  // namespace grainless::cuda
