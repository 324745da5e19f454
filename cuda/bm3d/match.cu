// SPDX-License-Identifier: MIT
#include <algorithm>

#include "cuda/runtime/launch.h"
#include "match.cuh"
#include "select.cuh"

namespace grainless::cuda {
namespace {

constexpr int kWarps = 4;  // of a block of match_any, a reference each

// Sum of squared differences between the patch at `at` and the reference's values.
__device__ int distance_to(const MatchArgs& args, const int16_t* at, const int* reference) {
  int sum = 0;
  for (int y = 0; y < args.stage.patch; ++y) {
    for (int x = 0; x < args.stage.patch; ++x) {
      const int difference = at[static_cast<size_t>(y) * args.rect.width + x] - *reference++;
      sum += difference * difference;
    }
  }
  return sum;
}

// Any patch, directly: a warp a reference, a lane a candidate at a time.
__global__ void __launch_bounds__(kWarps * 32) match_any(MatchArgs args) {
  __shared__ int references[kWarps][kMaxPatch * kMaxPatch];
  const int lane = threadIdx.x % 32;
  const int number = blockIdx.x * kWarps + threadIdx.x / 32;
  if (number >= args.grid.columns * args.rows) return;
  const int column = number % args.grid.columns, row = args.row + number / args.grid.columns;
  const int x = args.grid.x(args.grid.column + column), y = args.grid.y(args.grid.row + row);
  const auto patch_at = [&](int px, int py) {
    return args.plane + static_cast<size_t>(py - args.rect.y) * args.rect.width + px - args.rect.x;
  };
  int* reference = references[threadIdx.x / 32];
  for (int i = lane; i < args.stage.patch * args.stage.patch; i += 32) {
    reference[i] = patch_at(x + i % args.stage.patch, y + i / args.stage.patch)[0];
  }
  __syncwarp();
  const int side = 2 * args.stage.radius + 1;
  uint32_t best = lane == 0 ? 0 : kNoKey;
  int limit = args.limit;
  for (int first = 0; first < side * side; first += 32) {
    const int index = first + lane;
    const int cx = x + index % side - args.stage.radius, cy = y + index / side - args.stage.radius;
    uint32_t key = kNoKey;
    if (index < side * side && cx >= 0 && cx <= args.grid.last_x && cy >= 0 &&
        cy <= args.grid.last_y && (cx != x || cy != y)) {
      const int distance = distance_to(args, patch_at(cx, cy), reference);
      const uint32_t shifted = min(static_cast<uint32_t>(distance) >> args.shift, kMaxKeyDistance);
      if (distance < limit) key = shifted << kKeyIndexBits | static_cast<uint32_t>(index + 1);
    }
    if (__any_sync(kFullWarp, key != kNoKey)) {
      best = merged_smallest(best, key, lane);
      const uint32_t last = __shfl_sync(kFullWarp, best, args.stage.group - 1);
      if (last != kNoKey) limit = min(limit, limit_above(last >> kKeyIndexBits, args.shift));
    }
  }
  store_group(
      args.groups + (static_cast<size_t>(row) * args.grid.columns + column) * args.stage.group,
      best, args.stage.group, args.stage.radius, lane);
}

void launch_match_any(const StageJob& job, const MatchArgs& args) {
  const int references = args.grid.columns * args.rows;
  launch("BM3D matching", match_any,
         {(references + kWarps - 1) / kWarps, kWarps * 32, 0, job.method->stream}, args);
}

}  // namespace

void match_stage(const StageJob& job) {
  const Bm3dStage& stage = *job.stage;
  fill_match_plane(job);
  MatchArgs args{job.match_plane,
                 job.matched().rect,
                 job.grid,
                 0,
                 0,
                 part_of(stage),
                 stage.distance_shift,
                 limit_above(stage.max_distance, stage.distance_shift),
                 job.groups};
  const bool large = stage.patch > 8;
  const int references =
      kReferencesPerMultiprocessor * job.limits.multiprocessors / (large ? 8 : 1);
  const int rows = std::clamp(references / job.grid.columns, 16, kMostGridRows) / 16 * 16;
  launch_in_bands(*job.method, {job.grid.rows, rows, job.progress}, [&](const Band& band) {
    args.row = band.first;
    args.rows = band.count;
    if (large || !match_tensor(job, args)) launch_match_any(job, args);
  });
}

}  // namespace grainless::cuda
