// SPDX-License-Identifier: MIT
#include "volume.cuh"

#include <algorithm>
#include <cmath>

#include "cuda/runtime/check.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/sizes.h"

namespace grainless::cuda {
namespace {

constexpr int kDeepest = 8;  // layers of a block; the other kernels' divide it

// Issue slots that one multiprocessor may get in one launch. The slowest card in reach (a GTX 1650:
// 64 lanes at 1.5 GHz) has 96e9 a second: 31 ms. A desktop's watchdog bites after seconds, a cancel
// waits for two launches.
constexpr double kLaunchSlots = 3e9;
// A launch has at least so many blocks a multiprocessor.
constexpr int kLeastBlocks = 4;

constexpr double kLog2e = 1.4426950408889634;
// The hardware's 2^x gives 0 under x = -126, which is where weights count as nothing.
constexpr double kTop = kNlmCutoff * kLog2e - 126.0;

int round_up(int a, int b) {
  return ceil_div(a, b) * b;
}

VolumeCurve curve_of(const NlmWeight& weight) {
  if (weight.enabled == 0) return {};
  return {static_cast<float>(double{weight.gain} * weight.decay * kLog2e),
          static_cast<float>(double{weight.noise} * weight.decay * kLog2e + kTop), 1};
}

VolumeShape shape_of(const VolumePlan& plan, int channels) {
  const NlmPlan& nlm = plan.nlm;
  VolumeShape shape{};
  const bool cubic = plan.layers == nlm.patch && nlm.joint != 0;
  if (cubic && (channels == 1 ? volume_shape_grey : volume_shape_colour)(nlm.patch, shape)) {
    return shape;
  }
  return volume_shape_any(plan, channels);
}

// Rows of displacements that a launch goes through, so that blocks can be short on any card.
int rows_at_once(const VolumeArgs& a, const VolumeShape& shape) {
  const double row = shape.slots * shape.tile_x * shape.tile_y * shape.tile_z * a.side;
  return static_cast<int>(std::clamp(kLaunchSlots / kLeastBlocks / row, 1.0, 1.0 * a.rows_in_all));
}

// What follows from the plan and the slab's size alone.
VolumeArgs geometry(const VolumePlan& plan, const VolumeShape& shape, int width, int height,
                    int layers) {
  const NlmPlan& nlm = plan.nlm;
  VolumeArgs a{};
  a.width = width;
  a.height = height;
  a.layers = layers;
  a.plan = plan;
  a.low = nlm.patch / 2;
  a.near = plan.layers / 2;
  a.side = 2 * nlm.radius + 1;
  a.rows_in_all = a.side * (2 * plan.depth + 1);
  a.tiles_x = ceil_div(width, shape.tile_x);
  a.tiles_y = ceil_div(height, shape.tile_y);
  a.blocks = a.tiles_x * a.tiles_y * ceil_div(layers, shape.tile_z);
  // Blocks reach beyond the image: by less than 32 columns, the last window by up to 8 more.
  PaddedVolume& p = a.padded;
  p.pitch = round_up(width + 2 * nlm.radius + 40, 32);
  p.own_rows = round_up(height, 16) + nlm.patch - 1;
  p.rows = p.own_rows + 2 * nlm.radius;
  p.own_layers = round_up(layers, kDeepest) + plan.layers - 1;
  p.layers = p.own_layers + 2 * plan.depth;
  return a;
}

struct ScratchLayout {
  size_t own, match, values, sums, total;  // offsets, bytes

  ScratchLayout(const VolumeArgs& a, const VolumeShape& shape, int channels) {
    const size_t padded = sizeof(float) * channels * a.padded.plane() * a.padded.layers;
    own = 0;
    match = aligned(sizeof(float) * channels * a.padded.own_plane() * a.padded.own_layers);
    values = match + aligned(padded);
    sums = values + aligned(padded);
    const bool kept = rows_at_once(a, shape) < a.rows_in_all;
    total = sums + (kept ? aligned(sizeof(float) * shape.values * a.blocks * kVolumeThreads) : 0);
  }
};

VolumeArgs make_args(const VolumeJob& job, const VolumeShape& shape) {
  const NlmPlan& nlm = job.plan->nlm;
  VolumeArgs a = geometry(*job.plan, shape, job.source.width, job.source.height, job.layers);
  a.source = job.source;
  a.volume_layers = job.volume_layers;
  a.in_first = job.in_first;
  a.first = job.first;
  a.top = static_cast<float>(kTop);
  a.luma = curve_of(nlm.luma);
  a.chroma = curve_of(nlm.chroma);
  const ScratchLayout layout(a, shape, job.source.channels);
  if (layout.total > job.scratch_bytes) {
    throw Error(ErrorCode::kInternal, "volume: scratch too small");
  }
  auto* bytes = static_cast<unsigned char*>(job.scratch);
  a.padded.own = reinterpret_cast<float*>(bytes + layout.own);
  a.padded.match = reinterpret_cast<float*>(bytes + layout.match);
  a.padded.values = reinterpret_cast<float*>(bytes + layout.values);
  a.sums = reinterpret_cast<float*>(bytes + layout.sums);
  return a;
}

// Whole waves of blocks.
int blocks_at_once(const VolumeShape& shape, const VolumeArgs& a, int rows) {
  int device = 0, processors = 0, resident = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, shape.kernel, kVolumeThreads, 0),
        "volume: occupancy");
  const double block = shape.slots * shape.tile_x * shape.tile_y * shape.tile_z * a.side *
                       std::min(rows, a.rows_in_all);
  const int each = std::max(1, static_cast<int>(std::min(kLaunchSlots / block, 1e4)));
  return processors * (each > resident && resident > 0 ? each / resident * resident : each);
}

VolumeLuma luma_of(const VolumeArgs& a) {
  const size_t layer = a.source.channels * a.padded.plane();
  float* const first = a.padded.values + (a.near + a.plan.depth) * layer +
                       static_cast<size_t>(a.low + a.plan.nlm.radius) * a.padded.pitch +
                       a.plan.nlm.radius;
  return {{first, 1, {0, 0, a.width, a.height}, a.padded.pitch}, layer};
}

}  // namespace

size_t volume_scratch_bytes(const VolumePlan& plan, int channels, int width, int height,
                            int layers) {
  const VolumeShape shape = shape_of(plan, channels);
  return ScratchLayout(geometry(plan, shape, width, height, layers), shape, channels).total;
}

VolumeLuma run_volume(const VolumeJob& job) {
  const VolumeShape shape = shape_of(*job.plan, job.source.channels);
  VolumeArgs a = make_args(job, shape);
  const int rows = rows_at_once(a, shape), blocks = blocks_at_once(shape, a, rows);
  // Some blocks at a time, and of each of them some rows of displacements.
  const int turns = ceil_div(a.rows_in_all, rows), launches = ceil_div(a.blocks, blocks) * turns;
  volume_prepare(a, job.stream);
  launch_in_bands(job, {launches, 1, {0, 1}}, [&](const Band& band) {
    a.first_block = band.first / turns * blocks;
    a.first_row = band.first % turns * rows;
    a.last_row = std::min(a.first_row + rows, a.rows_in_all);
    launch("volume", shape.kernel,
           {std::min(blocks, a.blocks - a.first_block), kVolumeThreads, 0, job.stream}, a);
  });
  return luma_of(a);
}

}  // namespace grainless::cuda
