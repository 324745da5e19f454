// SPDX-License-Identifier: MIT
// Collaborative filtering of patches up to 8 x 8 (smaller ones are filled with zeros, which all
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
// The warps of a block share a cell of references and its sums in shared memory. They transform at
// the same time and add in turn, in raster order of their references.
#include <algorithm>

#include "bm3d_aggregate.cuh"
#include "bm3d_select.cuh"
#include "bm3d_stage.cuh"
#include "check.h"

namespace grainless::cuda {
namespace {

constexpr int kSide = 8;       // of a padded patch
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
  float forward[kSide * kSide], inverse[kSide * kSide], kaiser[kSide];
};

// A lane's part of a patch transform's matrix F.
struct Basis {
#if __CUDA_ARCH__ >= 800
  // F[g][2 t], the rest of it after rounding to tf32, then the same of F[g][2 t + 1].
  uint32_t part[4];
#else
  float row[kSide];
#endif
};

constexpr uint32_t kTf32Bits = 0xffffe000u;

__device__ __forceinline__ uint32_t tf32_high(float v) {
  return __float_as_uint(v) & kTf32Bits;
}

__device__ __forceinline__ float tf32_rest(float v) {
  return v - __uint_as_float(tf32_high(v));
}

// A value that the compiler can't load again: reading a kernel's arguments at another place in
// every lane takes an instruction a lane.
__device__ __forceinline__ float keep_register(float v) {
  asm volatile("" : "+f"(v));
  return v;
}

__device__ __forceinline__ Basis load_basis(const float* matrix, int lane) {
  Basis basis;
  const float* row = matrix + lane / 4 * kSide;
#if __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float v = row[lane % 4 * 2 + i];
    basis.part[2 * i] = __float_as_uint(keep_register(__uint_as_float(tf32_high(v))));
    basis.part[2 * i + 1] = __float_as_uint(keep_register(tf32_rest(v)));
  }
#else
#pragma unroll
  for (int k = 0; k < kSide; ++k) basis.row[k] = keep_register(row[k]);
#endif
  return basis;
}

#if __CUDA_ARCH__ >= 800
// sum += 16 x 8 times 8 x 8.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const Basis& a, uint32_t b0,
                                             uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.part[0]), "r"(a.part[1]), "r"(a.part[2]), "r"(a.part[3]), "r"(b0), "r"(b1));
}
#endif

// v = (F * v)^T.
__device__ __forceinline__ void half_transform(float (&v)[2], const Basis& basis) {
#if __CUDA_ARCH__ >= 800
  float sum[4] = {};
  multiply_add(sum, basis, __float_as_uint(tf32_rest(v[0])), __float_as_uint(tf32_rest(v[1])));
  multiply_add(sum, basis, tf32_high(v[0]), tf32_high(v[1]));
  v[0] = sum[0] + sum[2];
  v[1] = sum[1] + sum[3];
#else
  const int lane = threadIdx.x % 32;
  float sum[2] = {};
#pragma unroll
  for (int k = 0; k < kSide; ++k) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float b = __shfl_sync(kFullWarp, v[k % 2], (lane % 4 * 2 + i) * 4 + k / 2);
      sum[i] = fmaf(basis.row[k], b, sum[i]);
    }
  }
  v[0] = sum[0];
  v[1] = sum[1];
#endif
}

__device__ __forceinline__ void transform(float (&v)[2], const Basis& basis) {
  half_transform(v, basis);
  half_transform(v, basis);
}

// Haar without its factors 1 / sqrt 2: after the forward transform, coefficient m is 2^(level / 2)
// times too large; divided by 2^level it enters the inverse.
template <int kCount>
__device__ __forceinline__ void haar_forward(float (&v)[kCount]) {
#pragma unroll
  for (int step = 1; step < kCount; step *= 2) {
#pragma unroll
    for (int m = 0; m < kCount; m += 2 * step) {
      const float a = v[m], b = v[m + step];
      v[m] = a + b;
      v[m + step] = a - b;
    }
  }
}

template <int kCount>
__device__ __forceinline__ void haar_inverse(float (&v)[kCount]) {
#pragma unroll
  for (int step = kCount / 2; step >= 1; step /= 2) {
#pragma unroll
    for (int m = 0; m < kCount; m += 2 * step) {
      const float a = v[m], b = v[m + step];
      v[m] = a + b;
      v[m + step] = a - b;
    }
  }
}

// 2^level of coefficient m of kCount, and its root.
template <int kCount>
__device__ constexpr float haar_gain(int m) {
  return static_cast<float>(m == 0 ? kCount : 2 * (m & -m));
}
__device__ constexpr float root(float power_of_two) {
  float whole = 1;
  for (; power_of_two >= 4; power_of_two /= 4) whole *= 2;
  return power_of_two > 1 ? whole * 1.41421356f : whole;
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int distance = 16; distance >= 1; distance /= 2) {
    v += __shfl_xor_sync(kFullWarp, v, distance);
  }
  return v;
}

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

// A warp's coefficients in shared memory: those of a lane's pixel i of patch m.
template <int kLargest>
struct Stage {
  float* lane;

  __device__ __forceinline__ float& at(int i, int m) const { return lane[(i * kLargest + m) * 32]; }
};

// Patches that are loaded or transformed at once.
constexpr int kChunk = 8;

// Patches of a group, transformed. `window` is the lane's pixel at the search window's first patch,
// `offset` what the lane's entry of the group adds. kFull: patches are 8 x 8.
template <bool kFull, int kLargest>
__device__ __forceinline__ void load_group(const float* window, int stride, int offset, int count,
                                           const Lane& lane, const Basis& basis,
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
        v[m][i] = inside ? __ldg(reinterpret_cast<const float*>(row[i] + at)) : 0.0f;
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

template <int kCount, int kLargest>
__device__ __forceinline__ void read_stage(const Stage<kLargest>& stage, int i,
                                           float (&v)[kCount]) {
#pragma unroll
  for (int m = 0; m < kCount; ++m) v[m] = stage.at(i, m);
  haar_forward(v);
}

template <int kCount, int kLargest>
__device__ __forceinline__ void write_stage(float (&v)[kCount], int i,
                                            const Stage<kLargest>& stage) {
  haar_inverse(v);
#pragma unroll
  for (int m = 0; m < kCount; ++m) stage.at(i, m) = v[m];
}

// Hard threshold of a group's coefficients. The group's mean is the first coefficient of lane 0; it
// is kept. Returns the group's weight.
template <int kCount, int kLargest>
__device__ __forceinline__ float hard_threshold(const Stage<kLargest>& stage, float threshold,
                                                int lane) {
  int retained = 0;
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
    float v[kCount];
    read_stage(stage, i, v);
#pragma unroll
    for (int m = 0; m < kCount; ++m) {
      const float gain = haar_gain<kCount>(m);
      const bool keep = fabsf(v[m]) > threshold * root(gain) || (m == 0 && i + lane == 0);
      retained += keep;
      v[m] = keep ? v[m] * (1 / gain) : 0.0f;
    }
    write_stage(v, i, stage);
  }
  return 1.0f / warp_sum(static_cast<float>(retained));
}

__device__ __forceinline__ float reciprocal(float v) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}

// Wiener weights, each divided by its coefficient's gain, from the pilot's coefficients. Returns
// the group's weight.
template <int kCount, int kLargest>
__device__ __forceinline__ float wiener_weights(const Stage<kLargest>& stage, float variance,
                                                int lane, float (&weights)[2][kCount]) {
  float total = 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    read_stage(stage, i, weights[i]);
#pragma unroll
    for (int m = 0; m < kCount; ++m) {
      // 1 - v / (s^2 + v): an s^2 beyond float's range gives 1.
      const float gain = haar_gain<kCount>(m), s = weights[i][m];
      float weight = fmaf(-variance, reciprocal(fmaf(s, s, variance * gain)), 1 / gain);
      if (m == 0 && i + lane == 0) weight = 1 / gain;
      total = fmaf(weight * gain, weight * gain, total);
      weights[i][m] = weight;
    }
  }
  return 1.0f / warp_sum(total);
}

template <int kCount, int kLargest>
__device__ __forceinline__ void weigh(const float (&weights)[2][kCount],
                                      const Stage<kLargest>& stage) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float v[kCount];
    read_stage(stage, i, v);
#pragma unroll
    for (int m = 0; m < kCount; ++m) v[m] *= weights[i][m];
    write_stage(v, i, stage);
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
template <bool kWiener, bool kFull, int kLargest>
struct GroupFilter {
  const FilterArgs& args;
  const Lane& lane;
  const Basis &forward, &inverse;
  const Stage<kLargest>& stage;
  const float *noisy, *pilot;  // the lane's pixel at the search window's first patch
  unsigned entry;              // the lane's
  int count;

  __device__ __forceinline__ int offset(int stride) const {
    return entry == kNoPatch
               ? 0
               : static_cast<int>(entry >> 6) * stride + static_cast<int>(entry & 63u);
  }

  // Leaves the patches' estimates in the stage; returns their weight.
  template <int kCount>
  __device__ __forceinline__ float run() const {
    const auto load = [&](const float* window, int stride) {
      load_group<kFull>(window, stride, offset(stride), kCount, lane, forward, stage);
    };
    float weight;
    if constexpr (kWiener) {
      float weights[2][kCount];
      load(pilot, args.pilot_stride);
      weight = wiener_weights<kCount>(stage, args.shrink, lane.index, weights);
      load(noisy, args.noisy_stride);
      weigh(weights, stage);
    } else {
      load(noisy, args.noisy_stride);
      weight = hard_threshold<kCount>(stage, args.shrink, lane.index);
    }
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
    const float source = args.noisy[static_cast<size_t>(y - args.noisy_rect.y) * args.noisy_stride +
                                    x - args.noisy_rect.x];
    add_to_pixel(args.sums + static_cast<size_t>(oy) * args.out.width + ox,
                 fmaf(-source, sums.y, sums.x), sums.y);
  }
}

template <bool kWiener, bool kFull, int kLargest>
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
    const GroupFilter<kWiener, kFull, kLargest> filter{args,  lane,  forward, inverse, stage,
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
Kernel kernel_for(bool wiener, int largest) {
  if (largest > 16) return wiener ? filter_cells<true, kFull, 32> : filter_cells<false, kFull, 32>;
  return wiener ? filter_cells<true, kFull, 16> : filter_cells<false, kFull, 16>;
}

void set_padded(const Bm3dStage& stage, FilterArgs& args) {
  const int patch = stage.patch;
  for (int y = 0; y < patch; ++y) {
    for (int x = 0; x < patch; ++x) {
      args.forward[y * kSide + x] = stage.forward[y * patch + x];
      args.inverse[y * kSide + x] = stage.inverse[y * patch + x];
    }
    args.kaiser[y] = stage.kaiser[y];
  }
}

// Pixels that the patches of `cell` references can reach; as many of them as the block's memory
// takes. Rows of 4 n + 2 pixels spread a patch's rows over the banks.
void set_cell(const Bm3dStage& stage, FilterArgs& args) {
  for (args.cell = kLargestCell;; --args.cell) {
    const int span = (args.cell - 1) * stage.step + 2 * stage.radius + kSide;
    args.region_width = (span + 1) / 4 * 4 + 2;
    args.region_height = span;
    const size_t bytes = sizeof(float2) * args.region_width * args.region_height;
    if (args.cell == 1 || bytes <= kCellBytes) return;
  }
}

}  // namespace

void filter_stage(const StageJob& job, int c, double progress_from, double progress_to) {
  const Bm3dStage& stage = *job.stage;
  const bool wiener = job.pilot.data != nullptr;
  const DevicePlanes& pilot = wiener ? job.pilot : job.noisy;
  FilterArgs args{};
  args.noisy = job.noisy.plane(c);
  args.noisy_rect = job.noisy.rect;
  args.noisy_stride = job.noisy.stride;
  args.pilot = pilot.plane(c);
  args.pilot_rect = pilot.rect;
  args.pilot_stride = pilot.stride;
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
      stage.patch == kSide ? kernel_for<true>(wiener, largest) : kernel_for<false>(wiener, largest);
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
