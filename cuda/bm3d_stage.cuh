// SPDX-License-Identifier: MIT
// What the steps of one BM3D stage (plan.h: Bm3dStage) share: where references stand, how groups
// travel from matching to filtering, and how estimates are summed.
//
// Sums do not depend on the order of threads. The first stage's are integers (engine/bm3d_math.h).
// In the second, cells of references, whose grid is fixed to the image, add up in shared memory in
// raster order of their references; what a cell contributes to a pixel then is rounded to a fixed
// point and added to global memory in 64-bit integers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "check.h"
#include "engine/pixel_math.h"
#include "engine/plan.h"
#include "method.cuh"

namespace grainless::cuda {

// References that a tile needs, by their numbers in the image's grid.
struct ReferenceGrid {
  int step, last_x, last_y;  // last positions of a patch
  int column, row, columns, rows;

  GRAINLESS_HD int x(int i) const { return i * step < last_x ? i * step : last_x; }
  GRAINLESS_HD int y(int i) const { return i * step < last_y ? i * step : last_y; }
};

// A group is `group` entries: offset in the search window, x in bits 0..5 and y in bits 6..11, by
// key.
inline constexpr uint16_t kNoPatch = 0xffff;

// Sums of w * (source - estimate) and of w over all estimates of a pixel: the first stage's R and
// W, in the second in these units.
struct PixelSums {
  unsigned long long removed;  // signed
  unsigned long long weight;
};
inline constexpr float kRemovedUnit = 1.0f / (1 << 28);
inline constexpr float kWeightUnit = 1.0f / (1ull << 40);
// Per contribution; a pixel gets less than 2^14 of them. Reached by highlights 10^6 times white.
inline constexpr float kLargestRemoved = 512.0f * 1024 * 1024;

// One stage over one rectangle.
struct StageJob {
  const MethodJob* method;
  const Bm3dStage* stage;
  DevicePlanes noisy;
  DevicePlanes pilot;  // the stage's before; data is null in stage 1
  DevicePlanes first;  // the first stage's estimate, which is matched on; null in stage 1
  DevicePlanes out;
  double progress_from, progress_to;
  // What run_bm3d_stage adds: buffers in its scratch memory, and limits of the device.
  ReferenceGrid grid;
  int16_t* match_plane;  // over the rectangle of the matched planes, rows as wide as it
  uint16_t* groups;      // of each reference of grid, row by row
  PixelSums* sums;       // of one channel of out
  void* dft_scratch;     // of filter_stage_dft
  int multiprocessors;
  size_t shared_bytes;          // largest for a thread block
  size_t shared_bytes_for_all;  // of a multiprocessor

  // Blocks with this much shared memory that run on a multiprocessor at a time.
  int blocks_that_fit(size_t bytes) const {
    constexpr size_t kReserved = 1024;  // a block, by the driver
    return static_cast<int>(shared_bytes_for_all / (bytes + kReserved));
  }
  const DevicePlanes& matched() const { return first.data != nullptr ? first : noisy; }
};

// References that one launch takes, a multiprocessor: the longest launch (Wiener filter, groups of
// 32) takes 4.5 ms on an H200 (RESULTS.md). With half of its warps at a third of its clock it would
// take 30 ms on a desktop card.
inline constexpr int kReferencesPerMultiprocessor = 4096;

// Queues one stage; scratch is as large as bm3d_scratch_bytes says (bm3d.cu).
void run_bm3d_stage(StageJob job, void* scratch);

// A channel's estimate from its sums (bm3d_prepare.cu). ratio: engine/bm3d_math.h.
void finish_channel(const StageJob& job, int c, float ratio);

// Fills job.match_plane, then job.groups (bm3d_match.cu).
void match_stage(const StageJob& job);

// Adds all groups' estimates of channel c to job.sums: of the first stage with patches of 8 x 8
// (bm3d_filter_first.cu),
void filter_first_stage(const StageJob& job, int c, double progress_from, double progress_to);
// of the second with patches up to 8 x 8 (bm3d_filter.cu),
void filter_stage(const StageJob& job, int c, double progress_from, double progress_to);
// of a first stage in the Fourier basis (bm3d_dft.cu),
void filter_stage_dft(const StageJob& job, int c, double progress_from, double progress_to);
// of any other of the two and any patch (bm3d_filter_any.cu),
void filter_stage_any(const StageJob& job, int c, double progress_from, double progress_to);
// and of the ridge filter (bm3d_filter_ridge.cu).
void filter_stage_ridge(const StageJob& job, int c, double progress_from, double progress_to);

// Raises a kernel's limit of dynamic shared memory to what a launch needs.
template <typename Kernel>
void allow_shared(Kernel kernel, size_t bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "shared memory of BM3D");
}

}  // namespace grainless::cuda
