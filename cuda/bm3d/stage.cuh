// SPDX-License-Identifier: MIT
// What the steps of one BM3D stage (engine/boundary/plan.h: Bm3dStage) share: where references
// stand, how groups travel from matching to filtering, and how estimates are summed.
//
// Sums do not depend on the order of threads: they are integers, of what a patch adds to a pixel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/frame/method.cuh"
#include "cuda/runtime/check.h"
#include "cuda/runtime/launch.h"
#include "engine/boundary/pixel_math.h"
#include "engine/boundary/plan.h"

namespace grainless::cuda {

// References that a tile needs, by their numbers in the image's grid.
struct ReferenceGrid {
  int step, last_x, last_y;  // last positions of a patch
  int column, row, columns, rows;

  GRAINLESS_HD int x(int i) const { return i * step < last_x ? i * step : last_x; }
  GRAINLESS_HD int y(int i) const { return i * step < last_y ? i * step : last_y; }
};

// What kernels take of a Bm3dStage, whose matrices would make most arguments ten times as large.
struct StagePart {
  int patch, radius, group;
};

inline StagePart part_of(const Bm3dStage& stage) {
  return {stage.patch, stage.radius, stage.group};
}

// A group is `group` entries: offset in the search window, x in bits 0..5 and y in bits 6..11, by
// key.
inline constexpr uint16_t kNoPatch = 0xffff;

// Sums of w * (source - estimate) / deviation and of w over all estimates of a pixel, in these
// units. A picture's values may be in any unit; what is removed is some of its noise.
struct PixelSums {
  unsigned long long removed;  // signed
  unsigned long long weight;
};
inline constexpr float kRemovedUnit = 1.0f / (1 << 24);
inline constexpr float kWeightUnit = 1.0f / (1ull << 40);
// In deviations, per contribution; a pixel gets less than 2^18 of them. The pilot is the first
// stage's: with what that keeps, the second removes less than 2^17 (bm3d_math.h: most_removed).
inline constexpr float kLargestRemoved = 1 << 20;

// The same where a patch adds one weight w for all of its pixels: in the first stage
// (engine/boundary/bm3d_math.h), and in the second (filter.cu)
//   W = round(w * kPatchWeightSteps)   at the patch's position, and
//   R = round(W * kaiser * (what is removed) * steps / kPatchWeightSteps)   at its pixels.
struct PatchSums {
  unsigned long long* removed;  // signed; over StageJob::out
  unsigned* weight;             // over StageJob::map_rect()
};
inline constexpr float kPatchWeightSteps = 1 << 20;  // up to 63^2 groups take a patch
inline constexpr float kLargestSteps = 1ll << 44;    // of one R / 16; a pixel gets less than 2^14

// One stage over one rectangle.
struct StageJob {
  const MethodJob* method;
  const Bm3dStage* stage;
  DevicePlanes noisy;       // or what is left of its noise (Bm3dStage::share)
  DevicePlanes share;       // of the noise, that `noisy` has; data is null: all of it
  DevicePlanes pilot;       // the estimate of the stage before; data is null for hard thresholds
  DevicePlanes matched_on;  // an estimate; null: the noisy picture
  DevicePlanes out;
  ProgressSpan progress;
  // What run_bm3d_stage adds: buffers in its scratch memory, and the device's limits.
  ReferenceGrid grid;
  int16_t* match_plane;  // over the rectangle of the matched planes, rows as wide as it
  uint16_t* groups;      // of each reference of grid, row by row
  PixelSums* sums;       // of one channel of out
  void* dft_scratch;     // of filter_stage_dft
  DeviceLimits limits;

  // Blocks with this much shared memory that run on a multiprocessor at a time.
  int blocks_that_fit(size_t bytes) const {
    return static_cast<int>(limits.shared_bytes_for_all / (bytes + limits.shared_bytes_reserved));
  }
  const DevicePlanes& matched() const { return matched_on.data != nullptr ? matched_on : noisy; }
  // Positions of patches with pixels in out.
  Rect map_rect() const {
    const Rect& rect = out.rect;
    const int reach = stage->patch - 1;
    const int left = rect.x < reach ? rect.x : reach, top = rect.y < reach ? rect.y : reach;
    return {rect.x - left, rect.y - top, rect.width + left, rect.height + top};
  }
  // In the memory of `sums`: matched().rect contains map_rect().
  PatchSums patch_sums() const {
    auto* const removed = reinterpret_cast<unsigned long long*>(sums);
    const size_t pixels = static_cast<size_t>(out.rect.width) * out.rect.height;
    return {removed, reinterpret_cast<unsigned*>(removed + pixels)};
  }
};

// What the kernels of stages with a pilot take of a job, for one channel.
struct PilotedArgs {
  const float *noisy, *pilot;  // at the rectangle's first pixel
  Rect noisy_rect, pilot_rect, out, map;
  int noisy_stride, pilot_stride;
  ReferenceGrid grid;
  const uint16_t* groups;
  PatchSums sums;
  StagePart stage;
};

inline PilotedArgs piloted_args(const StageJob& job, int c) {
  return {job.noisy.plane(c), job.pilot.plane(c), job.noisy.rect,   job.pilot.rect,
          job.out.rect,       job.map_rect(),     job.noisy.stride, job.pilot.stride,
          job.grid,           job.groups,         job.patch_sums(), part_of(*job.stage)};
}

// References that one launch takes, a multiprocessor: the longest launch (matching) takes 2.4 ms on
// an H200 (RESULTS.md). With half of its warps at a third of its clock it would take 15 ms on a
// desktop card.
inline constexpr int kReferencesPerMultiprocessor = 4096;

// A tile's cells of references, by their numbers in the image's grid, and rows of them a launch.
struct CellGrid {
  int column, row, columns, rows, rows_at_once;
};

inline CellGrid cells_of(const StageJob& job, int cell_columns, int cell_rows) {
  const ReferenceGrid& grid = job.grid;
  CellGrid cells{grid.column / cell_columns, grid.row / cell_rows, 0, 0, 0};
  cells.columns = (grid.column + grid.columns - 1) / cell_columns - cells.column + 1;
  cells.rows = (grid.row + grid.rows - 1) / cell_rows - cells.row + 1;
  const int references = kReferencesPerMultiprocessor * job.limits.multiprocessors;
  const int at_once = references / (cell_columns * cell_rows) / cells.columns;
  cells.rows_at_once = at_once < 1 ? 1 : at_once < kMostGridRows ? at_once : kMostGridRows;
  return cells;
}

// Queues one stage; scratch is as large as bm3d_scratch_bytes says (bm3d.cu).
void run_bm3d_stage(StageJob job, void* scratch);

// A channel's estimate from its sums (prepare.cu). ratio: engine/boundary/bm3d_math.h; of PixelSums
// it is pixel_sums_ratio (filter_any.cu).
void finish_channel(const StageJob& job, int c, float ratio);
float pixel_sums_ratio(const Bm3dStage& stage, int c);

// The same from PatchSums, whose ratio is patch_sums_ratio (filter.cu).
void finish_channel_of_patches(const StageJob& job, int c, float ratio);
float patch_sums_ratio(const Bm3dStage& stage, int c);

// What finish_channel needs after the ridge filter (filter_ridge.cu).
float ridge_sums_ratio(const Bm3dStage& stage, int c);

// Fills job.match_plane, then job.groups (match.cu).
void match_stage(const StageJob& job);

// Add all groups' estimates of channel c, in the first stage and by filter_stage to
// job.patch_sums(), else to job.sums: of the first stage with patches of 8 x 8, but for the
// Hadamard transform (filter_first.cu),
void filter_first_stage(const StageJob& job, int c, const ProgressSpan& progress);
// of the second with patches up to 8 x 8 (filter.cu),
void filter_stage(const StageJob& job, int c, const ProgressSpan& progress);
// if a multiprocessor's shared memory takes such patches and search windows,
bool filter_stage_fits(const StageJob& job);
// of a first stage in the Fourier basis (dft.cu),
void filter_stage_dft(const StageJob& job, int c, const ProgressSpan& progress);
// of any other of the two and any patch (filter_any.cu),
void filter_stage_any(const StageJob& job, int c, const ProgressSpan& progress);
// and of the ridge filter (filter_ridge.cu).
void filter_stage_ridge(const StageJob& job, int c, const ProgressSpan& progress);

}  // namespace grainless::cuda
