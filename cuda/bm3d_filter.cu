// SPDX-License-Identifier: MIT
// The second stage's filter of patches up to 8 x 8 (smaller ones are filled with zeros, which all
// transforms keep).
//
// A warp filters a group: lane 4 g + t has the pixels (row 2 t and 2 t + 1, column g) of every
// patch, so that the Haar transform along the group needs no other lane's. The 8 x 8 products of
// the patch transform run on the matrix units: with the factors' rows in this order, the
// accumulator's layout after F * P is the operand's layout of F * (F * P)^T, and nothing has to
// move between lanes. Operands are split in two tf32 numbers, which together have float's
// precision. Patches wait in shared memory between the two transforms, so that the code is short
// loops: straight through, a group of 32 took 80 KB of instructions, which the caches could not
// feed.
//
// What a filter removes is transformed back, and taken from the source in the end; the reference's
// first pixel is subtracted from all patches before (engine/cpu/bm3d_filter.cpp says why).
//
// The warps of a block share a cell of references and its sums in shared memory. They transform at
// the same time and add in turn, in raster order of their references.
#include <algorithm>

#include "bm3d_aggregate.cuh"
#include "bm3d_select.cuh"
#include "bm3d_shrink.cuh"
#include "bm3d_stage.cuh"
#include "bm3d_transform.cuh"
#include "check.h"

namespace grainless::cuda {
namespace {

constexpr int kMostWarps = 8;  // of a block
constexpr int kUsualWarps = 4;
constexpr int kLargestCell = 8;  // references a side
constexpr size_t kCellBytes = 40 * 1024;

// What a cell's block needs, by value.
struct FilterArgs {
  const float *noisy, *pilot;  // of one channel, at the rectangle's first pixel
  Rect noisy_rect, pilot_rect, out;
  int noisy_stride, pilot_stride;
  ReferenceGrid grid;
  const uint16_t* groups;
  PixelSums* sums;
  int patch, radius, group;
  int cell;                         // references a side
  int first_column, first_row;      // of the launch, in cells of the image's grid
  int region_width, region_height;  // pixels that a cell's patches can reach
  float shrink;
  float forward[kPatchSide * kPatchSide], inverse[kPatchSide * kPatchSide], kaiser[kPatchSide];
};

// One warp's view of its cell.
struct Lane {
  int index;
  int row, column;  // first pixel of a patch; the other one is a row below
  bool has[2];      // whether they lie inside of the patch
  float kaiser[2];
};

__device__ __forceinline__ Lane make_lane(const FilterArgs& args) {
  Lane lane;
  lane.index = threadIdx.x % 32;
  lane.row = lane.index % 4 * 2;
  lane.column = lane.index / 4;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    lane.has[i] = lane.row + i < args.patch && lane.column < args.patch;
    lane.kaiser[i] = keep_register(args.kaiser[lane.row + i] * args.kaiser[lane.column]);
  }
  return lane;
}

// Patches that are loaded or transformed at once.
constexpr int kChunk = 8;

// Patches of a group less `base`, transformed. `window` is the lane's pixel at the search window's
// first patch, `offset` what the lane's entry of the group adds. kFull: patches are 8 x 8.
template <bool kFull, int kLargest>
__device__ __forceinline__ void load_group(const float* window, int stride, int offset, int count,
                                           float base, const Lane& lane, const Basis& basis,
                                           const Stage<kLargest>& stage) {
  // Bytes, unsigned: a 64-bit address then takes two instructions.
  const char* const row[2] = {reinterpret_cast<const char*>(window),
                              reinterpret_cast<const char*>(window + stride)};
  const uint32_t bytes = static_cast<uint32_t>(offset) * sizeof(float);
#pragma unroll 1
  for (int first = 0; first < count; first += kChunk) {
    float v[kChunk][2];
#pragma unroll
    for (int m = 0; m < kChunk; ++m) {
      const uint32_t at = __shfl_sync(kFullWarp, bytes, first + m);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const bool inside = kFull || lane.has[i];
        v[m][i] = inside ? __ldg(reinterpret_cast<const float*>(row[i] + at)) - base : 0.0f;
      }
    }
#pragma unroll
    for (int m = 0; m < kChunk; ++m) {
      transform(v[m], basis);
      stage.at(0, first + m) = v[m][0];
      stage.at(1, first + m) = v[m][1];
    }
  }
}

template <int kLargest>
__device__ __forceinline__ void transform_back(int count, const Basis& basis,
                                               const Stage<kLargest>& stage) {
#pragma unroll 1
  for (int first = 0; first < count; first += kChunk) {
    float v[kChunk][2];
#pragma unroll
    for (int m = 0; m < kChunk; ++m) {
      v[m][0] = stage.at(0, first + m);
      v[m][1] = stage.at(1, first + m);
    }
#pragma unroll
    for (int m = 0; m < kChunk; ++m) {
      transform(v[m], basis);
      stage.at(0, first + m) = v[m][0];
      stage.at(1, first + m) = v[m][1];
    }
  }
}

// Turns of the block's warps, by named barriers that two neighbours share. racecheck does not
// follow those (it takes what one warp writes and the next reads for a race): it needs a build with
// GRAINLESS_RACECHECK, where all warps wait for each other at every turn, 13 % slower.
template <typename Body>
__device__ __forceinline__ void take_turn(int number, int last, const Body& body) {
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
#ifdef GRAINLESS_RACECHECK
  for (int turn = 0; turn < warps; ++turn) {
    __syncthreads();
    if (turn == warp) body();
  }
#else
  if (number > 0) asm volatile("bar.sync %0, 64;" ::"r"(1 + warp) : "memory");
  body();
  if (number < last) {
    __threadfence_block();
    asm volatile("bar.arrive %0, 64;" ::"r"(1 + (warp + 1) % warps) : "memory");
  }
#endif
}

// What a reference's warp does: transforms, shrinks, and adds when its turn has come. Groups have
// up to kLargest patches.
template <bool kFull, int kLargest>
struct GroupFilter {
  const FilterArgs& args;
  const Lane& lane;
  const Basis &forward, &inverse;
  const Stage<kLargest>& stage;
  const float *noisy, *pilot;  // the lane's pixel at the search window's first patch
  unsigned entry;              // the lane's
  int count;

  // A lane without a patch stands for the reference: chunks of small groups load it again.
  __device__ __forceinline__ int offset(int stride) const {
    const unsigned centre = args.radius | args.radius << 6;
    const unsigned patch = entry == kNoPatch ? centre : entry;
    return static_cast<int>(patch >> 6) * stride + static_cast<int>(patch & 63u);
  }

  __device__ __forceinline__ float reference_pixel(const float* window, int stride) const {
    return __ldg(window + (args.radius - lane.row) * stride + args.radius - lane.column);
  }

  // Leaves what is removed from the patches in the stage; returns their weight.
  template <int kCount>
  __device__ __forceinline__ float run() const {
    const float base = reference_pixel(pilot, args.pilot_stride);
    const auto load = [&](const float* window, int stride) {
      load_group<kFull>(window, stride, offset(stride), kCount, base, lane, forward, stage);
    };
    float parts[2][kCount];
    load(pilot, args.pilot_stride);
    const float weight = wiener_parts<kCount>(stage, args.shrink, lane.index, parts);
    load(noisy, args.noisy_stride);
    weigh(parts, stage);
    transform_back(kCount, inverse, stage);
    return weight;
  }

  __device__ __forceinline__ float run() const {
    switch (count) {
      case 1:
        return run<1>();
      case 2:
        return run<2>();
      case 4:
        return run<4>();
      case 8:
        return run<8>();
      case 16:
        return run<16>();
      case 32:
        if constexpr (kLargest >= 32) return run<32>();
    }
    return 0.0f;  // no reference here
  }

  // `region` is the lane's pixel at the search window's first patch.
  __device__ __forceinline__ void add(float weight, float2* region) const {
    const float w[2] = {weight * lane.kaiser[0], weight * lane.kaiser[1]};
    const int bytes = offset(args.region_width) * static_cast<int>(sizeof(float2));
#pragma unroll 4
    for (int m = 0; m < count; ++m) {
      float2* at = reinterpret_cast<float2*>(reinterpret_cast<char*>(region) +
                                             __shfl_sync(kFullWarp, bytes, m));
      float2 a = at[0], b = at[args.region_width];
      a.x = fmaf(w[0], stage.at(0, m), a.x);
      a.y += w[0];
      b.x = fmaf(w[1], stage.at(1, m), b.x);
      b.y += w[1];
      at[0] = a;
      at[args.region_width] = b;
      __syncwarp();
    }
  }
};

// The cell's sums join those of the pixels.
__device__ void add_region(const FilterArgs& args, const float2* region, int x0, int y0) {
  const int pixels = args.region_width * args.region_height;
  for (int i = threadIdx.x; i < pixels; i += blockDim.x) {
    const float2 sums = region[i];
    const int x = x0 + i % args.region_width, y = y0 + i / args.region_width;
    const int ox = x - args.out.x, oy = y - args.out.y;
    if (sums.y == 0.0f || ox < 0 || ox >= args.out.width || oy < 0 || oy >= args.out.height) {
      continue;
    }
    add_to_pixel(args.sums + static_cast<size_t>(oy) * args.out.width + ox, sums.x, sums.y);
  }
}

template <bool kFull, int kLargest>
__global__ void __launch_bounds__(kMostWarps * 32, 1)
    filter_cells(const __grid_constant__ FilterArgs args) {
  extern __shared__ float2 sums[];
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32, references = args.cell * args.cell;
  const Stage<kLargest> stage{
      reinterpret_cast<float*>(sums + args.region_width * args.region_height) +
      warp * 2 * kLargest * 32 + threadIdx.x % 32};
  const ReferenceGrid& grid = args.grid;
  const int column0 = (args.first_column + static_cast<int>(blockIdx.x)) * args.cell;
  const int row0 = (args.first_row + static_cast<int>(blockIdx.y)) * args.cell;
  const int x0 = grid.x(column0) - args.radius, y0 = grid.y(row0) - args.radius;
  for (int i = threadIdx.x; i < args.region_width * args.region_height; i += blockDim.x) {
    sums[i] = {0.0f, 0.0f};
  }
  __syncthreads();
  const Lane lane = make_lane(args);
  const Basis forward = load_basis(args.forward, lane.index);
  const Basis inverse = load_basis(args.inverse, lane.index);
  const int rounds = (references + warps - 1) / warps;
  for (int round = 0; round < rounds; ++round) {
    const int number = round * warps + warp;
    const int column = column0 + number % args.cell - grid.column;
    const int row = row0 + number / args.cell - grid.row;
    unsigned entry = kNoPatch;
    if (number < references && column >= 0 && column < grid.columns && row >= 0 &&
        row < grid.rows && lane.index < args.group) {
      entry =
          args.groups[(static_cast<size_t>(row) * grid.columns + column) * args.group + lane.index];
    }
    const int count = __popc(__ballot_sync(kFullWarp, entry != kNoPatch));
    const int x = grid.x(grid.column + column) - args.radius + lane.column;
    const int y = grid.y(grid.row + row) - args.radius + lane.row;
    const float* noisy = args.noisy +
                         static_cast<ptrdiff_t>(y - args.noisy_rect.y) * args.noisy_stride + x -
                         args.noisy_rect.x;
    const float* pilot = args.pilot +
                         static_cast<ptrdiff_t>(y - args.pilot_rect.y) * args.pilot_stride + x -
                         args.pilot_rect.x;
    const GroupFilter<kFull, kLargest> filter{args,  lane,  forward, inverse, stage,
                                              noisy, pilot, entry,   count};
    const float weight = filter.run();
    take_turn(number, rounds * warps - 1,
              [&] { filter.add(weight, sums + (y - y0) * args.region_width + x - x0); });
  }
  __syncthreads();
  add_region(args, sums, x0, y0);
}

// Warps of a block share sums, and wait for their turns. A few blocks with few warps are best; on
// cards where few blocks fit, they get more.
template <typename BytesFor>
int warps_of_block(const StageJob& job, const BytesFor& bytes_for) {
  constexpr int kEnoughBlocks = 3;
  if (job.blocks_that_fit(bytes_for(kUsualWarps)) >= kEnoughBlocks) return kUsualWarps;
  int warps = kMostWarps;
  while (warps > 1 && bytes_for(warps) > job.shared_bytes) --warps;
  return warps;
}

using Kernel = void (*)(FilterArgs);

template <bool kFull>
Kernel kernel_for(int largest) {
  return largest > 16 ? filter_cells<kFull, 32> : filter_cells<kFull, 16>;
}

void set_padded(const Bm3dStage& stage, FilterArgs& args) {
  const int patch = stage.patch;
  for (int y = 0; y < patch; ++y) {
    for (int x = 0; x < patch; ++x) {
      args.forward[y * kPatchSide + x] = stage.forward[y * patch + x];
      args.inverse[y * kPatchSide + x] = stage.inverse[y * patch + x];
    }
    args.kaiser[y] = stage.kaiser[y];
  }
}

// Pixels that the patches of `cell` references can reach; as many of them as the block's memory
// takes. Rows of 4 n + 2 pixels spread a patch's rows over the banks.
void set_cell(const Bm3dStage& stage, FilterArgs& args) {
  for (args.cell = kLargestCell;; --args.cell) {
    const int span = (args.cell - 1) * stage.step + 2 * stage.radius + kPatchSide;
    args.region_width = (span + 1) / 4 * 4 + 2;
    args.region_height = span;
    const size_t bytes = sizeof(float2) * args.region_width * args.region_height;
    if (args.cell == 1 || bytes <= kCellBytes) return;
  }
}

}  // namespace

void filter_stage(const StageJob& job, int c, double progress_from, double progress_to) {
  const Bm3dStage& stage = *job.stage;
  FilterArgs args{};
  args.noisy = job.noisy.plane(c);
  args.noisy_rect = job.noisy.rect;
  args.noisy_stride = job.noisy.stride;
  args.pilot = job.pilot.plane(c);
  args.pilot_rect = job.pilot.rect;
  args.pilot_stride = job.pilot.stride;
  args.out = job.out.rect;
  args.grid = job.grid;
  args.groups = job.groups;
  args.sums = job.sums;
  args.patch = stage.patch;
  args.radius = stage.radius;
  args.group = stage.group;
  args.shrink = stage.shrink[c];
  set_padded(stage, args);
  set_cell(stage, args);
  const int largest = stage.group > 16 ? 32 : 16;
  const auto bytes_for = [&](int warps) {
    return sizeof(float2) * (args.region_width * args.region_height + warps * largest * 32);
  };
  const int warps = warps_of_block(job, bytes_for);
  const size_t bytes = bytes_for(warps);
  const auto kernel =
      stage.patch == kPatchSide ? kernel_for<true>(largest) : kernel_for<false>(largest);
  allow_shared(kernel, bytes);
  const ReferenceGrid& grid = job.grid;
  args.first_column = grid.column / args.cell;
  const int columns = (grid.column + grid.columns - 1) / args.cell - args.first_column + 1;
  const int first_row = grid.row / args.cell;
  const int rows = (grid.row + grid.rows - 1) / args.cell - first_row + 1;
  const int cells = kReferencesPerMultiprocessor * job.multiprocessors / (args.cell * args.cell);
  const int band = std::max(1, cells / columns);
  for (int row = 0; row < rows; row += band) {
    checkpoint(*job.method, progress_from + (progress_to - progress_from) * row / rows);
    args.first_row = first_row + row;
    const dim3 blocks(columns, std::min(band, rows - row));
    kernel<<<blocks, warps * 32, bytes, job.method->stream>>>(args);
    check_launch("BM3D filtering");
  }
}

}  // namespace grainless::cuda
