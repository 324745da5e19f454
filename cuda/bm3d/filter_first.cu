// SPDX-License-Identifier: MIT
// The first stage's filter of 8 x 8 patches. Its estimate is the pilot and has to be the CPU's to
// the bit (engine/boundary/bm3d_math.h): compiled without contraction, with the CPU's sequence of
// operations.
//
// A warp filters a group in registers. Lane 8 q + c has column c of patches q n .. q n + n - 1, n
// being a quarter of the group: a pass along the columns needs no other lane, nor do the Haar
// transform's first steps; between the two passes of a patch's transform, columns and rows change
// places through shared memory. The block's warps share a cell of references, its pixels and its
// sums of what is removed, which are integers: they add whenever they are ready. Weights are summed
// a patch, not a pixel, in global memory.
#include <algorithm>

#include "aggregate.cuh"
#include "cuda/runtime/launch.h"
#include "engine/boundary/bm3d_math.h"
#include "select.cuh"
#include "stage.cuh"
#include "transform.cuh"

namespace grainless::cuda {
namespace {

#define GRAINLESS_INLINE __device__ __forceinline__
#include "engine/boundary/bm3d_passes.inc"
#undef GRAINLESS_INLINE

constexpr int kSide = 8;         // of a patch
constexpr int kMostWarps = 8;    // of a block
constexpr int kLargestCell = 8;  // references a side
static_assert(kLargestCell * kLargestCell <= kCellReferences);

// A cell's region in shared memory: of each row the sums of R of heavy and of light groups, and the
// pixels.
constexpr int kWidth = 72, kLight = kWidth, kNoisy = 2 * kWidth, kRow = 3 * kWidth;

// Four patches of a warp change places, twice over so that a warp waits once a time: 72 floats from
// patch to patch spread them over the banks.
constexpr int kPatchFloats = 72, kExchangeFloats = 2 * 4 * kPatchFloats;
static_assert(kNoisy % 4 == 0 && kRow % 4 == 0 && kExchangeFloats % 4 == 0);

struct ScalarOps {
  using V = float;
  static __device__ __forceinline__ float add(float a, float b) { return a + b; }
  static __device__ __forceinline__ float subtract(float a, float b) { return a - b; }
  static __device__ __forceinline__ float scaled(float k, float v) { return k * v; }
};

// What a cell's block needs, by value.
struct FirstArgs {
  const float* noisy;  // of one channel, at the rectangle's first pixel
  Rect rect;
  int stride;
  ReferenceGrid grid;
  const uint16_t* groups;
  FirstSums sums;
  StagePart stage;
  int cell_columns, cell_rows;  // of references
  int first_column, first_row;  // of the launch, in cells of the image's grid
  int width, height;            // of the pixels that a cell's patches can reach
  float threshold;
  Bm3dSumScale scale;
  Dct8 dct;
  Pairs8 pairs, pairs_back;
  float kaiser[kSide];
};

struct Dct {
  using Pass = DctPass<ScalarOps>;
  static __device__ __forceinline__ const Dct8& forward(const FirstArgs& args) { return args.dct; }
  static __device__ __forceinline__ const Dct8& inverse(const FirstArgs& args) { return args.dct; }
};

struct Pairs {
  using Pass = PairPass<ScalarOps>;
  static __device__ __forceinline__ const Pairs8& forward(const FirstArgs& args) {
    return args.pairs;
  }
  static __device__ __forceinline__ const Pairs8& inverse(const FirstArgs& args) {
    return args.pairs_back;
  }
};

// round(v) for |v| under 2^22.
__device__ __forceinline__ int rounded(float v) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
  return __float_as_int(v + kRound) - __float_as_int(kRound);
}

// One warp's group of kCount patches.
template <class Basis, int kCount>
class Group {
 public:
  static constexpr int kOwn = kCount >= 4 ? kCount / 4 : 1;  // patches a lane

  __device__ Group(const FirstArgs& args, float* exchange, float kaiser)
      : args_(args),
        exchange_(exchange),
        kaiser_(kaiser),
        lane_(threadIdx.x % 32),
        quarter_(lane_ / kSide),
        column_(lane_ % kSide),
        active_(quarter_ < kCount) {}

  // `window`: the search window's first pixel in the region. `offset`: from there to the patch of
  // the lane's number. Returns the group's weight in steps.
  __device__ __forceinline__ int run(int* window, int offset) {
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      patch_[k] = __shfl_sync(kFullWarp, offset, active_ ? quarter_ * kOwn + k : 0) + column_;
    }
    load(window + kNoisy);
    forward();
    haar_forward();
    const PatchWeight weight =
        first_stage_weight(1.0f / static_cast<float>(hard_threshold()), args_.scale);
    haar_inverse();
    inverse();
    add(weight.factor, weight.shift == 0 ? window + kLight : window);
    return weight.steps;
  }

 private:
  __device__ __forceinline__ void load(const int* window) {
    const float base = __int_as_float(window[args_.stage.radius * (kRow + 1)]);
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        v_[k][i] = __int_as_float(window[patch_[k] + i * kRow]) - base;
      }
    }
  }

  // A lane with a column gets the row of the same number, and the other way round. `turn`: of two
  // buffers.
  __device__ __forceinline__ void exchange(float (&v)[kSide], int turn) {
    float* const mine = exchange_ + turn * 4 * kPatchFloats + quarter_ * kPatchFloats;
    const int swap = column_ & 4;  // halves change places in every other four columns: no conflicts
    float4* const to = reinterpret_cast<float4*>(mine + column_ * kSide);
    to[swap / 4] = {v[0], v[1], v[2], v[3]};
    to[1 - swap / 4] = {v[4], v[5], v[6], v[7]};
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kSide; ++i) v[i] = mine[i * kSide + (column_ ^ (i & 4))];
  }

  __device__ __forceinline__ void pass_forward(float (&v)[kSide]) {
    float out[kSide];
    Basis::Pass::forward(
        Basis::forward(args_), [&](int i) { return v[i]; }, [&](int i, float x) { out[i] = x; });
#pragma unroll
    for (int i = 0; i < kSide; ++i) v[i] = out[i];
  }

  __device__ __forceinline__ void pass_inverse(float (&v)[kSide]) {
    float out[kSide];
    Basis::Pass::inverse(
        Basis::inverse(args_), [&](int i) { return v[i]; }, [&](int i, float x) { out[i] = x; });
#pragma unroll
    for (int i = 0; i < kSide; ++i) v[i] = out[i];
  }

  __device__ __forceinline__ void forward() {
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      pass_forward(v_[k]);
      exchange(v_[k], k % 2);
      pass_forward(v_[k]);
    }
  }

  __device__ __forceinline__ void inverse() {
    __syncwarp();
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      pass_inverse(v_[k]);
      exchange(v_[k], k % 2);
      pass_inverse(v_[k]);
    }
    __syncwarp();
  }

  // a, b = a + b, a - b of the lanes `distance` apart, in the first patch of a lane.
  __device__ __forceinline__ void butterfly(int distance, bool takes_part) {
    const float sign = (lane_ & distance) != 0 ? -1.0f : 1.0f;
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      const float other = __shfl_xor_sync(kFullWarp, v_[0][i], distance);
      const float result = fmaf(v_[0][i], sign, other);
      if (takes_part) v_[0][i] = result;
    }
  }

  __device__ __forceinline__ void haar_forward() {
#pragma unroll
    for (int step = 1; step < kOwn; step *= 2) {
#pragma unroll
      for (int m = 0; m < kOwn; m += 2 * step) {
#pragma unroll
        for (int i = 0; i < kSide; ++i) {
          const float a = v_[m][i], b = v_[m + step][i];
          v_[m][i] = a + b;
          v_[m + step][i] = a - b;
        }
      }
    }
    if constexpr (kCount >= 2) butterfly(8, true);
    if constexpr (kCount >= 4) butterfly(16, quarter_ % 2 == 0);
  }

  // Divides a lane's own differences by their gains, powers of two: no bit depends on where.
  __device__ __forceinline__ void haar_inverse() {
    if constexpr (kCount >= 4) butterfly(16, quarter_ % 2 == 0);
    if constexpr (kCount >= 2) butterfly(8, true);
#pragma unroll
    for (int step = kOwn / 2; step >= 1; step /= 2) {
#pragma unroll
      for (int m = 0; m < kOwn; m += 2 * step) {
        const float back = 1 / haar_gain(step, kCount);
#pragma unroll
        for (int i = 0; i < kSide; ++i) {
          const float a = v_[m][i], b = v_[m + step][i];
          v_[m][i] = fmaf(back, b, a);
          v_[m + step][i] = fmaf(-back, b, a);
        }
      }
    }
  }

  // Leaves what is removed, of a lane's first patch divided by its gain; returns how many
  // coefficients remain.
  __device__ __forceinline__ int hard_threshold() {
    // Of a lane's first patch, number quarter_ * kOwn.
    const float first_gain = quarter_ == 0   ? haar_gain(0, kCount)
                             : quarter_ == 2 ? haar_gain(2 * kOwn, kCount)
                                             : haar_gain(kOwn, kCount);
    const float first_root = quarter_ == 0   ? haar_root(haar_gain(0, kCount))
                             : quarter_ == 2 ? haar_root(haar_gain(2 * kOwn, kCount))
                                             : haar_root(haar_gain(kOwn, kCount));
    const float back = 1 / first_gain;
    int retained = 0;
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      const float bound = args_.threshold * (k == 0 ? first_root : haar_root(haar_gain(k, kCount)));
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        bool removed = fabsf(v_[k][i]) <= bound;
        if (k == 0 && i == 0) removed = removed && lane_ != 0;  // the mean is kept
        retained += !removed;
        v_[k][i] = removed ? (k == 0 ? v_[k][i] * back : v_[k][i]) : 0.0f;
      }
    }
    if (!active_) retained = 0;
#pragma unroll
    for (int distance = 16; distance >= 1; distance /= 2) {
      retained += __shfl_xor_sync(kFullWarp, retained, distance);
    }
    return retained;
  }

  __device__ __forceinline__ void add(float weight, int* window) const {
    if (!active_) return;
    float factor[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) factor[i] = weight * kaiser_ * args_.kaiser[i];
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        atomicAdd(window + patch_[k] + i * kRow, rounded(factor[i] * v_[k][i]));
      }
    }
  }

  const FirstArgs& args_;
  float* const exchange_;
  const float kaiser_;  // of the lane's column
  const int lane_, quarter_, column_;
  const bool active_;  // small groups leave lanes idle
  int patch_[kOwn];    // the lane's patches' columns, from the search window's first pixel
  float v_[kOwn][kSide];
};

// Sums of 0, and the pixels; 0 outside of the plane. x0, y0: the region's first pixel.
__device__ __forceinline__ void fill_region(const FirstArgs& args, int* region, int x0, int y0) {
  const Rect& rect = args.rect;
  const int lane = threadIdx.x % 32;
  for (int row = threadIdx.x / 32; row < args.height; row += blockDim.x / 32) {
    const int y = y0 + row - rect.y;
    int* const at = region + row * kRow;
    for (int i = lane; i < kNoisy / 4; i += 32) reinterpret_cast<int4*>(at)[i] = {};
    // Of the columns from `first` on, those up to `end` lie inside.
    const int first = max(rect.x - x0, 0), end = min(rect.right() - x0, args.width);
    const bool inside = y >= 0 && y < rect.height;
    const float* const from = args.noisy + static_cast<ptrdiff_t>(y) * args.stride + x0 - rect.x;
    for (int column = lane; column < args.width; column += 32) {
      const bool here = inside && column >= first && column < end;
      at[kNoisy + column] = here ? __float_as_int(__ldg(from + column)) : 0;
    }
  }
}

// The cell's sums join those of the pixels.
__device__ __forceinline__ void add_region(const FirstArgs& args, const int* region, int x0,
                                           int y0) {
  const Rect& out = args.sums.out;
  const int first = max(out.x - x0, 0), end = min(out.right() - x0, args.width);
  for (int row = threadIdx.x / 32; row < args.height; row += blockDim.x / 32) {
    const int y = y0 + row - out.y;
    if (y < 0 || y >= out.height) continue;
    const int* const at = region + row * kRow;
    unsigned long long* const to =
        args.sums.sums.removed + static_cast<ptrdiff_t>(y) * out.width + x0 - out.x;
    for (int column = first + threadIdx.x % 32; column < end; column += 32) {
      const long long removed =
          static_cast<long long>(at[column]) * (1 << kLightBits) + at[kLight + column];
      if (removed != 0) atomicAdd(to + column, static_cast<unsigned long long>(removed));
    }
  }
}

template <class Basis, int kLargest>
__device__ __forceinline__ int filter_group(const FirstArgs& args, float* exchange, float kaiser,
                                            int count, int* window, int offset) {
  switch (count) {
    case 1:
      return Group<Basis, 1>(args, exchange, kaiser).run(window, offset);
    case 2:
      return Group<Basis, 2>(args, exchange, kaiser).run(window, offset);
    case 4:
      return Group<Basis, 4>(args, exchange, kaiser).run(window, offset);
    case 8:
      return Group<Basis, 8>(args, exchange, kaiser).run(window, offset);
    case 16:
      return Group<Basis, 16>(args, exchange, kaiser).run(window, offset);
    default:
      return Group<Basis, kLargest>(args, exchange, kaiser).run(window, offset);
  }
}

template <class Basis, int kLargest>
__global__ void __launch_bounds__(kMostWarps * 32, kLargest > 16 ? 2 : 3)
    filter_first(const __grid_constant__ FirstArgs args) {
  extern __shared__ float4 shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  float* const exchange = reinterpret_cast<float*>(shared) + warp * kExchangeFloats;
  int* const region = reinterpret_cast<int*>(shared) + warps * kExchangeFloats;
  const ReferenceGrid& grid = args.grid;
  const int column0 = (args.first_column + static_cast<int>(blockIdx.x)) * args.cell_columns;
  const int row0 = (args.first_row + static_cast<int>(blockIdx.y)) * args.cell_rows;
  const int x0 = grid.x(column0) - args.stage.radius, y0 = grid.y(row0) - args.stage.radius;
  fill_region(args, region, x0, y0);
  __syncthreads();
  const float kaiser = keep_register(args.kaiser[lane % kSide]);
  for (int number = warp; number < args.cell_columns * args.cell_rows; number += warps) {
    const int column = column0 + number % args.cell_columns - grid.column;
    const int row = row0 + number / args.cell_columns - grid.row;
    if (column < 0 || column >= grid.columns || row < 0 || row >= grid.rows) continue;
    unsigned entry = kNoPatch;
    if (lane < args.stage.group) {
      entry =
          args.groups[(static_cast<size_t>(row) * grid.columns + column) * args.stage.group + lane];
    }
    const int count = __popc(__ballot_sync(kFullWarp, entry != kNoPatch));
    const int x = grid.x(grid.column + column) - args.stage.radius;
    const int y = grid.y(grid.row + row) - args.stage.radius;
    const int dx = entry & 63u, dy = entry >> 6;
    const int steps = filter_group<Basis, kLargest>(
        args, exchange, kaiser, count, region + (y - y0) * kRow + x - x0, dy * kRow + dx);
    if (lane < count) args.sums.add_weight(x + dx, y + dy, steps);
  }
  __syncthreads();
  add_region(args, region, x0, y0);
}

using Kernel = void (*)(FirstArgs);

Kernel kernel_for(Transform transform, int group) {
  if (transform == Transform::kDct)
    return group > 16 ? filter_first<Dct, 32> : filter_first<Dct, 16>;
  return group > 16 ? filter_first<Pairs, 32> : filter_first<Pairs, 16>;
}

size_t shared_bytes(const FirstArgs& args, int warps) {
  return sizeof(float) * warps * kExchangeFloats + sizeof(int) * kRow * args.height;
}

// As many columns of references as a region's rows take; as many rows that two blocks fit on a
// multiprocessor, or one, if two only did with a few. Returns the block's warps.
int set_cell(const StageJob& job, FirstArgs& args) {
  constexpr int kFewRows = 4;
  const Bm3dStage& stage = *job.stage;
  const int least = 2 * stage.radius + kSide;
  if (least > kWidth) too_little_shared_memory();
  args.cell_columns = std::min(kLargestCell, (kWidth - least) / stage.step + 1);
  args.width = least + (args.cell_columns - 1) * stage.step;
  const auto fits = [&](int warps, int blocks) {
    args.height = least + (args.cell_rows - 1) * stage.step;
    const size_t bytes = shared_bytes(args, warps);
    return bytes <= job.limits.shared_bytes && job.blocks_that_fit(bytes) >= blocks;
  };
  for (args.cell_rows = kLargestCell; args.cell_rows > kFewRows; --args.cell_rows) {
    if (fits(kMostWarps, 2)) return kMostWarps;
  }
  for (int warps = kMostWarps; warps > 0; warps /= 2) {
    for (args.cell_rows = kLargestCell; args.cell_rows > 0; --args.cell_rows) {
      if (fits(warps, 1)) return warps;
    }
  }
  too_little_shared_memory();
}

FirstArgs make_args(const StageJob& job, int c) {
  const Bm3dStage& stage = *job.stage;
  FirstArgs args{};
  args.noisy = job.noisy.plane(c);
  args.rect = job.noisy.rect;
  args.stride = job.noisy.stride;
  args.grid = job.grid;
  args.groups = job.groups;
  args.sums = first_sums(job);
  args.stage = part_of(stage);
  args.threshold = stage.shrink[c];
  args.scale = first_stage_sums(stage, c);
  if (static_cast<Transform>(stage.transform) == Transform::kDct) {
    args.dct = dct_parts(stage.forward);
  } else {
    args.pairs = pair_parts(stage.forward);
    args.pairs_back = inverse_parts(args.pairs);
  }
  std::copy_n(stage.kaiser, kSide, args.kaiser);
  return args;
}

}  // namespace

void filter_first_stage(const StageJob& job, int c, const ProgressSpan& progress) {
  FirstArgs args = make_args(job, c);
  const int warps = set_cell(job, args);
  const Kernel kernel = kernel_for(static_cast<Transform>(job.stage->transform), job.stage->group);
  const size_t bytes = shared_bytes(args, warps);
  const CellGrid cells = cells_of(job, args.cell_columns, args.cell_rows);
  args.first_column = cells.column;
  launch_in_bands(*job.method, {cells.rows, cells.rows_at_once, progress}, [&](const Band& band) {
    args.first_row = cells.row + band.first;
    launch("BM3D filtering, first stage", kernel,
           {dim3(cells.columns, band.count), warps * 32, bytes, job.method->stream}, args);
  });
}

}  // namespace grainless::cuda
