// SPDX-License-Identifier: MIT
// The first stage's filter of 8 x 8 patches. Its estimate is the pilot and has to be the CPU's to
// the bit (engine/boundary/bm3d_math.h): compiled without contraction, with the CPU's sequence of
// operations.
//
// A warp filters a group in registers. Lane 8 q + c has column c of patches q n .. q n + n - 1, n
// being a quarter of the group: a pass along the columns needs no other lane, nor do the Haar
// transform's first steps; between the two passes of a patch's transform, columns and rows change
// places through shared memory. The block's warps share a cell of references and its sums, which
// are integers: they add whenever they are ready.
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
constexpr int kLowBits = 15;  // R is summed in two parts, each of them in 32 bits

// Four patches of a warp change places, twice over so that a warp waits once a time: 72 floats from
// patch to patch spread them over the banks.
constexpr int kPatchFloats = 72, kExchangeFloats = 2 * 4 * kPatchFloats;

struct ScalarOps {
  using V = float;
  static __device__ __forceinline__ float add(float a, float b) { return a + b; }
  static __device__ __forceinline__ float subtract(float a, float b) { return a - b; }
  static __device__ __forceinline__ float scaled(float k, float v) { return k * v; }
};

// What a cell's block needs, by value.
struct FirstArgs {
  const float* noisy;  // of one channel, at the rectangle's first pixel
  Rect rect, out;
  int stride;
  ReferenceGrid grid;
  const uint16_t* groups;
  PixelSums* sums;
  StagePart stage;
  int cell;                         // references a side
  int first_column, first_row;      // of the launch, in cells of the image's grid
  int region_width, region_height;  // pixels that a cell's patches can reach
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

// A cell's sums in shared memory, a value a pixel of its region.
struct Region {
  int *weight, *high, *low;
};

// A warp's group: the search window's first pixel, its index in the region, and the lane's patch.
struct GroupPlaces {
  const float* window;
  int corner;
  unsigned entry;
};

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

  __device__ __forceinline__ void run(const GroupPlaces& places, const Region& region) {
    load(places.window, places.entry);
    forward();
    haar_forward();
    const int retained = hard_threshold();
    haar_inverse();
    inverse();
    add(1.0f / static_cast<float>(retained), places, region);
  }

 private:
  __device__ __forceinline__ unsigned patch(unsigned entry, int k) const {
    return __shfl_sync(kFullWarp, entry, active_ ? quarter_ * kOwn + k : 0);
  }

  __device__ __forceinline__ void load(const float* window, unsigned entry) {
    const float base = __ldg(window + args_.stage.radius * args_.stride + args_.stage.radius);
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      const unsigned at = patch(entry, k);
      const float* in = window + static_cast<int>(at >> 6) * args_.stride + (at & 63u) + column_;
#pragma unroll
      for (int i = 0; i < kSide; ++i) v_[k][i] = __ldg(in + i * args_.stride) - base;
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
    const bool upper = (lane_ & distance) != 0;
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      const float other = __shfl_xor_sync(kFullWarp, v_[0][i], distance);
      const float result = upper ? other - v_[0][i] : v_[0][i] + other;
      if (takes_part) v_[0][i] = result;
    }
  }

  __device__ __forceinline__ void steps(int step) {
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

  __device__ __forceinline__ void haar_forward() {
#pragma unroll
    for (int step = 1; step < kOwn; step *= 2) steps(step);
    if constexpr (kCount >= 2) butterfly(8, true);
    if constexpr (kCount >= 4) butterfly(16, quarter_ % 2 == 0);
  }

  __device__ __forceinline__ void haar_inverse() {
    if constexpr (kCount >= 4) butterfly(16, quarter_ % 2 == 0);
    if constexpr (kCount >= 2) butterfly(8, true);
#pragma unroll
    for (int step = kOwn / 2; step >= 1; step /= 2) steps(step);
  }

  // Leaves what is removed, divided by its gain; returns how many coefficients remain.
  __device__ __forceinline__ int hard_threshold() {
    // Of a lane's first patch, number quarter_ * kOwn.
    const float first_gain = quarter_ == 0   ? haar_gain(0, kCount)
                             : quarter_ == 2 ? haar_gain(2 * kOwn, kCount)
                                             : haar_gain(kOwn, kCount);
    const float first_root = quarter_ == 0   ? haar_root(haar_gain(0, kCount))
                             : quarter_ == 2 ? haar_root(haar_gain(2 * kOwn, kCount))
                                             : haar_root(haar_gain(kOwn, kCount));
    int retained = 0;
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      const float bound = args_.threshold * (k == 0 ? first_root : haar_root(haar_gain(k, kCount)));
      const float back = k == 0 ? 1 / first_gain : 1 / haar_gain(k, kCount);
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        bool removed = fabsf(v_[k][i]) <= bound;
        if (k == 0 && i == 0) removed = removed && lane_ != 0;  // the mean is kept
        retained += !removed;
        v_[k][i] = removed ? v_[k][i] * back : 0.0f;
      }
    }
    if (!active_) retained = 0;
#pragma unroll
    for (int distance = 16; distance >= 1; distance /= 2) {
      retained += __shfl_xor_sync(kFullWarp, retained, distance);
    }
    return retained;
  }

  __device__ __forceinline__ void add(float weight, const GroupPlaces& places,
                                      const Region& region) {
    int w[kSide];
    float factor[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      const float window = args_.kaiser[i] * kaiser_;
      w[i] = __float2int_rn(weight * window * args_.scale.weight_steps);
      factor[i] = static_cast<float>(w[i]) * args_.scale.removed_scale;
    }
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      const unsigned at = patch(places.entry, k);
      int pixel =
          places.corner + static_cast<int>(at >> 6) * args_.region_width + (at & 63u) + column_;
      if (!active_) continue;
#pragma unroll
      for (int i = 0; i < kSide; ++i, pixel += args_.region_width) {
        const float value =
            fminf(fmaxf(factor[i] * v_[k][i], -args_.scale.largest), args_.scale.largest);
        const int removed = __float2int_rn(value);
        atomicAdd(region.weight + pixel, w[i]);
        atomicAdd(region.high + pixel, removed >> kLowBits);
        atomicAdd(region.low + pixel, removed & ((1 << kLowBits) - 1));
      }
    }
  }

  const FirstArgs& args_;
  float* const exchange_;
  const float kaiser_;  // of the lane's column
  const int lane_, quarter_, column_;
  const bool active_;  // small groups leave lanes idle
  float v_[kOwn][kSide];
};

// The cell's sums join those of the pixels.
__device__ void add_region(const FirstArgs& args, const Region& region, int x0, int y0) {
  const int pixels = args.region_width * args.region_height;
  for (int i = threadIdx.x; i < pixels; i += blockDim.x) {
    const int x = x0 + i % args.region_width - args.out.x;
    const int y = y0 + i / args.region_width - args.out.y;
    const unsigned weight = region.weight[i];
    if (weight == 0 || x < 0 || x >= args.out.width || y < 0 || y >= args.out.height) continue;
    const long long removed =
        static_cast<long long>(region.high[i]) * (1 << kLowBits) + region.low[i];
    add_steps(args.sums + static_cast<size_t>(y) * args.out.width + x, removed, weight);
  }
}

template <class Basis, int kLargest>
__device__ __forceinline__ void filter_group(const FirstArgs& args, float* exchange, float kaiser,
                                             int count, const GroupPlaces& places,
                                             const Region& region) {
  switch (count) {
    case 1:
      return Group<Basis, 1>(args, exchange, kaiser).run(places, region);
    case 2:
      return Group<Basis, 2>(args, exchange, kaiser).run(places, region);
    case 4:
      return Group<Basis, 4>(args, exchange, kaiser).run(places, region);
    case 8:
      return Group<Basis, 8>(args, exchange, kaiser).run(places, region);
    case 16:
      return Group<Basis, 16>(args, exchange, kaiser).run(places, region);
    case 32:
      if constexpr (kLargest >= 32) {
        return Group<Basis, 32>(args, exchange, kaiser).run(places, region);
      }
  }
}

template <class Basis, int kLargest>
__global__ void __launch_bounds__(kMostWarps * 32, kLargest > 16 ? 2 : 3)
    filter_first(const __grid_constant__ FirstArgs args) {
  extern __shared__ float4 shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  float* const exchange = reinterpret_cast<float*>(shared) + warp * kExchangeFloats;
  const int pixels = args.region_width * args.region_height;
  int* const sums = reinterpret_cast<int*>(shared) + warps * kExchangeFloats;
  const Region region{sums, sums + pixels, sums + 2 * pixels};
  const ReferenceGrid& grid = args.grid;
  const int column0 = (args.first_column + static_cast<int>(blockIdx.x)) * args.cell;
  const int row0 = (args.first_row + static_cast<int>(blockIdx.y)) * args.cell;
  const int x0 = grid.x(column0) - args.stage.radius, y0 = grid.y(row0) - args.stage.radius;
  for (int i = threadIdx.x; i < 3 * pixels; i += blockDim.x) sums[i] = 0;
  __syncthreads();
  const float kaiser = keep_register(args.kaiser[lane % kSide]);
  for (int number = warp; number < args.cell * args.cell; number += warps) {
    const int column = column0 + number % args.cell - grid.column;
    const int row = row0 + number / args.cell - grid.row;
    if (column < 0 || column >= grid.columns || row < 0 || row >= grid.rows) continue;
    unsigned entry = kNoPatch;
    if (lane < args.stage.group) {
      entry =
          args.groups[(static_cast<size_t>(row) * grid.columns + column) * args.stage.group + lane];
    }
    const int count = __popc(__ballot_sync(kFullWarp, entry != kNoPatch));
    const int x = grid.x(grid.column + column) - args.stage.radius;
    const int y = grid.y(grid.row + row) - args.stage.radius;
    const float* window =
        args.noisy + static_cast<ptrdiff_t>(y - args.rect.y) * args.stride + x - args.rect.x;
    const GroupPlaces places{window, (y - y0) * args.region_width + x - x0, entry};
    filter_group<Basis, kLargest>(args, exchange, kaiser, count, places, region);
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
  return sizeof(float) * warps * kExchangeFloats +
         3 * sizeof(int) * args.region_width * args.region_height;
}

// The largest cell of which two blocks fit on a multiprocessor, but no small one for that. Returns
// the block's warps.
int set_cell(const StageJob& job, FirstArgs& args) {
  constexpr int kEnoughBlocks = 2, kSmallestCell = 4;
  const Bm3dStage& stage = *job.stage;
  int warps = kMostWarps;
  for (args.cell = kLargestCell;;) {
    args.region_width = (args.cell - 1) * stage.step + 2 * stage.radius + kSide;
    args.region_height = args.region_width;
    const size_t bytes = shared_bytes(args, warps);
    const int enough = args.cell > kSmallestCell ? kEnoughBlocks : 1;
    if (bytes <= job.limits.shared_bytes && job.blocks_that_fit(bytes) >= enough) return warps;
    if (args.cell > 1) {
      --args.cell;
    } else if (warps > 1) {
      warps /= 2;
    } else {
      too_little_shared_memory();
    }
  }
}

FirstArgs make_args(const StageJob& job, int c) {
  const Bm3dStage& stage = *job.stage;
  FirstArgs args{};
  args.noisy = job.noisy.plane(c);
  args.rect = job.noisy.rect;
  args.stride = job.noisy.stride;
  args.out = job.out.rect;
  args.grid = job.grid;
  args.groups = job.groups;
  args.sums = job.sums;
  args.stage = part_of(stage);
  args.threshold = stage.shrink[c];
  args.scale = first_stage_sums(stage.group, stage.shrink[c]);
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
  const ReferenceGrid& grid = job.grid;
  args.first_column = grid.column / args.cell;
  const int columns = (grid.column + grid.columns - 1) / args.cell - args.first_column + 1;
  const int first_row = grid.row / args.cell;
  const int rows = (grid.row + grid.rows - 1) / args.cell - first_row + 1;
  const int cells =
      kReferencesPerMultiprocessor * job.limits.multiprocessors / (args.cell * args.cell);
  const int at_once = std::clamp(cells / columns, 1, kMostGridRows);
  launch_in_bands(*job.method, {rows, at_once, progress}, [&](const Band& band) {
    args.first_row = first_row + band.first;
    launch("BM3D filtering, first stage", kernel,
           {dim3(columns, band.count), warps * 32, bytes, job.method->stream}, args);
  });
}

}  // namespace grainless::cuda
