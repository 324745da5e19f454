// SPDX-License-Identifier: MIT
// The second stage's filter of patches up to 8 x 8 (smaller ones are filled with zeros, which all
// transforms keep).
//
// A warp filters a group in registers: lane 4 g + t has the pixels (row 2 t and 2 t + 1, column g)
// of every patch, so that the Haar transform along the group, which comes first, needs no other
// lane's. The 8 x 8 products of the patch transform run on the matrix units: with the factors' rows
// in this order, the accumulator's layout after F * P is the operand's layout of F * (F * P)^T, and
// nothing has to move between lanes. Only the sum of all patches holds the picture's contrast: it
// and the coarsest differences are transformed with float's precision, the others by one product
// each (transform.cuh). What truncation takes from those in the mean, and what rounding F does to
// the length of its rows, is made good in the Wiener factors.
//
// What a filter removes is transformed back, and taken from the source in the end; the reference's
// first pixel is subtracted from all patches before (engine/cpu/bm3d/filter.cpp says why).
//
// Sums are of integers, in any order (stage.cuh: PatchSums). The warps of a block share a cell
// of references with its pixels and its sums of what is removed, in shared memory; weights are
// summed a patch, not a pixel, in global memory.
#include <algorithm>
#include <cmath>

#include <cuda_fp16.h>

#include "cuda/frame/warp.cuh"
#include "cuda/runtime/check.h"
#include "engine/boundary/bm3d_math.h"
#include "select.cuh"
#include "stage.cuh"
#include "transform.cuh"

namespace grainless::cuda {
namespace {

constexpr int kWarps = 8;        // of a block
constexpr int kLargestCell = 8;  // references a side
constexpr int kExactSteps = 2;   // coarsest steps of the Haar transform: float's precision
constexpr int kPatches = 32;     // at most, of a group

// A cell's region in shared memory: of each row the two sums of R, the pilot's and the noisy
// pixels. A patch's rows spread over the banks.
constexpr int kWidth = 77;
constexpr int kFine = kWidth, kPilot = 2 * kWidth, kNoisy = 3 * kWidth, kRow = 4 * kWidth;
static_assert(2 * kRow % 32 == 8);

// R of groups with a weight up to kSmallWeight is summed in steps kFiner times as small as that of
// others, apart from it in a cell. With |R| up to kLargestR, sums of the 64 references of a cell
// stay under 2^31; more than that, as where a hot pixel is removed, is added in global memory at
// once. A pixel of a group of weight 1 may lose 8 times the noise's deviation.
constexpr float kFiner = 16;
constexpr float kSmallWeight = kPatchWeightSteps / kFiner;
constexpr float kLargestR = 1048000;
constexpr float kDeviationSteps = kFiner * 131072;
static_assert(kLargestCell * kLargestCell * kPatches == 2048);

// What a cell's block needs, by value.
struct FilterArgs : PilotedArgs {
  int cell_columns, cell_rows;       // of references
  int first_column, first_row;       // of the launch, in cells of the image's grid
  int width, height;                 // of the pixels that a cell's patches can reach
  float variance, variance_gain[6];  // times 2^i, less what truncation takes from a pilot's energy
  float steps;                       // R of w * (what is removed)
  float forward[kPatchSide * kPatchSide], inverse[kPatchSide * kPatchSide], kaiser[kPatchSide];
};

__device__ __forceinline__ float reciprocal(float v) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
}

struct BlockShared {
  Basis forward[32], inverse[32];  // of the lanes
  // The same for fast transforms: read, not made of the others, lest the compiler makes them anew
  // for every product.
  Basis fast_forward[32], fast_inverse[32];
  float correction[kPatchSide];        // of a coefficient's row or column, for the rounding of F
  uint32_t offsets[kWarps][kPatches];  // of a group's patches in the region, in bytes
};

__device__ void fill_shared(const FilterArgs& args, BlockShared& shared) {
  if (threadIdx.x < 32) {
    shared.forward[threadIdx.x] = make_basis(args.forward, threadIdx.x);
    shared.inverse[threadIdx.x] = make_basis(args.inverse, threadIdx.x);
    shared.fast_forward[threadIdx.x] = fast_basis(shared.forward[threadIdx.x]);
    shared.fast_inverse[threadIdx.x] = fast_basis(shared.inverse[threadIdx.x]);
  } else if (threadIdx.x < 32 + kPatchSide) {
    const int u = threadIdx.x - 32;
    float sum = 0;
    for (int k = 0; k < kPatchSide; ++k) {
      sum = fmaf(fast_entry(args.forward[u * kPatchSide + k]),
                 fast_entry(args.inverse[k * kPatchSide + u]), sum);
    }
    shared.correction[u] = sum > 0.5f ? 1 / sum : 1.0f;
  }
}

// What a lane keeps from group to group.
struct Lane {
  int index;
  int row, column;  // first pixel of a patch; the other one is a row below
  bool has[2];      // whether they lie inside of the patch
  float kept[2];    // a Wiener factor of 1, corrected for the rounding of F in fast transforms
  float factor[2];  // R of weight steps * (what is removed)
};

__device__ __forceinline__ Lane make_lane(const FilterArgs& args, const BlockShared& shared) {
  Lane lane;
  lane.index = threadIdx.x % 32;
  lane.row = lane.index % 4 * 2;
  lane.column = lane.index / 4;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    lane.has[i] = lane.row + i < args.stage.patch && lane.column < args.stage.patch;
    lane.kept[i] = shared.correction[lane.row + i] * shared.correction[lane.column];
    const float window = args.kaiser[lane.row + i] * args.kaiser[lane.column];
    lane.factor[i] = keep_register(window * (args.steps / kPatchWeightSteps));
  }
  return lane;
}

// One warp's group of kCount patches. kFull: patches are 8 x 8.
template <bool kFull, int kCount>
class Group {
 public:
  // `offsets`: of the patches from the search window's first, in bytes of a row of the region.
  __device__ __forceinline__ Group(const FilterArgs& args, const BlockShared& shared,
                                   const uint32_t* offsets, const Lane& lane)
      : args_(args), shared_(shared), offsets_(offsets), lane_(lane) {}

  // Leaves what is removed from the patches; returns their weight in steps. `region`: the lane's
  // pixel at the search window's first patch. `base` is taken from all pixels.
  __device__ __forceinline__ int run(int* region, float base) {
    load(region + kPilot);
    const float weight = wiener_factors(base);
    load(region + kNoisy);
    weigh(base);
    return max(__float2int_rn(weight * kPatchWeightSteps), 1);
  }

  // x and y: the lane's pixel at the search window's first patch, in the image.
  __device__ __forceinline__ void add(int weight, int* region, int x, int y) const {
    float most = 0;
#pragma unroll
    for (int m = 0; m < kCount; ++m) most = fmaxf(fmaxf(most, fabsf(v_[m][0])), fabsf(v_[m][1]));
    const bool fine = static_cast<float>(weight) <= kSmallWeight;
    const float scale = static_cast<float>(weight) * (fine ? 1.0f : 1 / kFiner);
    const float factor[2] = {scale * lane_.factor[0], scale * lane_.factor[1]};
    const bool large = !(most * fmaxf(factor[0], factor[1]) <= kLargestR);
    if (__any_sync(kFullWarp, large)) return add_large(factor, fine ? 1 : kFiner, x, y);
    if (fine) region += kFine;
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
#pragma unroll
    for (int m = 0; m < kCount; ++m) {
      int* const at = patch(region, m);
      atomicAdd(at, __float_as_int(fmaf(factor[0], v_[m][0], kRound)) - __float_as_int(kRound));
      atomicAdd(at + kRow,
                __float_as_int(fmaf(factor[1], v_[m][1], kRound)) - __float_as_int(kRound));
    }
  }

 private:
  __device__ __forceinline__ int* patch(int* region, int m) const {
    return reinterpret_cast<int*>(reinterpret_cast<char*>(region) + offsets_[m]);
  }

  __device__ __forceinline__ void load(int* region) {
#pragma unroll
    for (int m = 0; m < kCount; ++m) {
      const int* const at = patch(region, m);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float v = __int_as_float(at[i * kRow]);
        v_[m][i] = kFull || lane_.has[i] ? v : 0.0f;
      }
    }
  }

  // The sum of all patches is the only one that a constant changes.
  __device__ __forceinline__ void subtract(float base) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (kFull || lane_.has[i]) v_[0][i] -= kCount * base;
    }
  }

  // A step of the Haar transform along the group, without its factor 1 / sqrt 2
  // (engine/boundary/bm3d_math.h: haar_gain).
  __device__ __forceinline__ void butterfly(int m, int step) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float a = v_[m][i], b = v_[m + step][i];
      v_[m][i] = a + b;
      v_[m + step][i] = a - b;
    }
  }

  // The coarsest differences hold most of what is kept.
  static constexpr __device__ bool is_exact(int step) { return (step << kExactSteps) >= kCount; }

  __device__ __forceinline__ void transform(float (&v)[2], bool exact, const Basis (&bases)[32],
                                            const Basis& fast, const Scale& scale) const {
    if (exact) {
      cuda::transform(v, bases[lane_.index], scale);
    } else {
      transform_fast(v, fast, scale);
    }
  }

  // The noise's energy in a coefficient with this gain after fast transforms.
  __device__ __forceinline__ float fast_variance(int gain) const {
#if __CUDA_ARCH__ >= 800
    return args_.variance_gain[__ffs(gain) - 1];
#else
    return args_.variance * gain;
#endif
  }

  // From the pilot's coefficients, each as soon as it is known. Returns the group's weight.
  __device__ __forceinline__ float wiener_factors(float base) {
    const Basis fast = shared_.fast_forward[lane_.index];
    const Scale scale(v_, base);
    float total = 0;
#pragma unroll
    for (int step = 1; step < kCount; step *= 2) {
      const float variance = is_exact(step) ? args_.variance * (2 * step) : fast_variance(2 * step);
      const float all[2] = {is_exact(step) ? 1.0f : lane_.kept[0],
                            is_exact(step) ? 1.0f : lane_.kept[1]};
      const float removed[2] = {all[0] * variance, all[1] * variance};
#pragma unroll
      for (int m = 0; m < kCount; m += 2 * step) {
        butterfly(m, step);
        float(&s)[2] = v_[m + step];
        transform(s, is_exact(step), shared_.forward, fast, scale);
        float kept[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          kept[i] = fmaf(-removed[i], reciprocal(fmaf(s[i], s[i], variance)), all[i]);
          total = fmaf(kept[i], kept[i], total);
        }
        kept_[m + step] = __floats2half2_rn(kept[0], kept[1]);
      }
    }
    subtract(base);
    cuda::transform(v_[0], shared_.forward[lane_.index], scale);
    constexpr float gain = kCount;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float s = v_[0][i], variance = args_.variance * gain;
      float removed = args_.variance * reciprocal(fmaf(s, s, variance));
      if (i == 0 && lane_.index == 0) removed = 0;  // the mean is kept
      const float kept = fmaf(-gain, removed, 1.0f);
      total = fmaf(kept, kept, total);
      removed_[i] = removed;
    }
    return 1.0f / warp_sum(total);
  }

  // What is removed from the patches. The coefficients of a difference between patches are mostly
  // noise: it is what is kept of them that is transformed back and taken away, so that the fast
  // transforms' rounding is as small as that.
  __device__ __forceinline__ void weigh(float base) {
    const Scale scale(v_, base);
#pragma unroll
    for (int step = 1; step < kCount; step *= 2) {
#pragma unroll
      for (int m = 0; m < kCount; m += 2 * step) butterfly(m, step);
    }
    subtract(base);
    cuda::transform(v_[0], shared_.forward[lane_.index], scale);
    v_[0][0] *= removed_[0];
    v_[0][1] *= removed_[1];
    cuda::transform(v_[0], shared_.inverse[lane_.index], scale);
    const Basis forward = shared_.fast_forward[lane_.index];
    const Basis inverse = shared_.fast_inverse[lane_.index];
#pragma unroll
    for (int step = kCount / 2; step >= 1; step /= 2) {
      const float back = 1 / haar_gain(step, kCount);
      // What truncation takes from coefficients and pixels is given back here and not by the Wiener
      // factors: half floats near 1 are too coarse for it.
      const float whole = is_exact(step) ? 1.0f : 1 + 4 * kTruncated;
#pragma unroll
      for (int m = 0; m < kCount; m += 2 * step) {
        float kept[2] = {v_[m + step][0], v_[m + step][1]};
        transform(kept, is_exact(step), shared_.forward, forward, scale);
        kept[0] *= __low2float(kept_[m + step]);
        kept[1] *= __high2float(kept_[m + step]);
        transform(kept, is_exact(step), shared_.inverse, inverse, scale);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float sum = v_[m][i], difference = fmaf(-whole, kept[i], v_[m + step][i]);
          v_[m][i] = fmaf(back, difference, sum);
          v_[m + step][i] = fmaf(-back, difference, sum);
        }
      }
    }
  }

  // A hot pixel's: straight to the sums of pixels, which are wider.
  __device__ __forceinline__ void add_large(const float (&factor)[2], float finer, int x,
                                            int y) const {
    float values[kCount][2];
#pragma unroll
    for (int m = 0; m < kCount; ++m) {
      values[m][0] = factor[0] * v_[m][0];
      values[m][1] = factor[1] * v_[m][1];
    }
#pragma unroll 1
    for (int m = 0; m < kCount; ++m) {
      const int offset = static_cast<int>(offsets_[m] / sizeof(int));
      const int px = x + offset % kRow - args_.out.x;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int py = y + i + offset / kRow - args_.out.y;
        if (px < 0 || px >= args_.out.width || py < 0 || py >= args_.out.height) continue;
        const float bounded = fminf(fmaxf(values[m][i], -kLargestSteps), kLargestSteps);
        atomicAdd(
            args_.sums.removed + static_cast<size_t>(py) * args_.out.width + px,
            static_cast<unsigned long long>(__float2ll_rn(bounded) * static_cast<int>(finer)));
      }
    }
  }

  const FilterArgs& args_;
  const BlockShared& shared_;
  const uint32_t* const offsets_;
  const Lane& lane_;
  float v_[kCount][2];    // of the lane's pixels or coefficients
  __half2 kept_[kCount];  // Wiener factors of differences, corrected
  float removed_[2];      // of the sum: what is removed, divided by the gain
};

// A block's way through its cell.
template <bool kFull, int kLargest>
class CellFilter {
 public:
  __device__ __forceinline__ CellFilter(const FilterArgs& args, BlockShared& shared, int* region)
      : args_(args),
        shared_(shared),
        region_(region),
        offsets_(shared.offsets[threadIdx.x / 32]),
        column0_((args.first_column + static_cast<int>(blockIdx.x)) * args.cell_columns),
        row0_((args.first_row + static_cast<int>(blockIdx.y)) * args.cell_rows),
        x0_(args.grid.x(column0_) - args.stage.radius),
        y0_(args.grid.y(row0_) - args.stage.radius) {}

  // Sums of 0, and the pixels; 0 outside of the planes.
  __device__ __forceinline__ void fill() {
    const Rect &pilot = args_.pilot_rect, &noisy = args_.noisy_rect;
    const int lane = threadIdx.x % 32;
    for (int row = threadIdx.x / 32; row < args_.height; row += kWarps) {
      const int y = y0_ + row;
      const float* pilot_row =
          args_.pilot + static_cast<ptrdiff_t>(y - pilot.y) * args_.pilot_stride;
      const float* noisy_row =
          args_.noisy + static_cast<ptrdiff_t>(y - noisy.y) * args_.noisy_stride;
      for (int column = lane; column < args_.width; column += 32) {
        int* const at = region_ + row * kRow + column;
        const int x = x0_ + column;
        const float p = holds(pilot, x, y) ? __ldg(pilot_row + x - pilot.x) : 0.0f;
        const float n = holds(noisy, x, y) ? __ldg(noisy_row + x - noisy.x) : 0.0f;
        at[0] = at[kFine] = 0;
        at[kPilot] = __float_as_int(p);
        at[kNoisy] = __float_as_int(n);
      }
    }
  }

  __device__ __forceinline__ void run() {
    lane_ = make_lane(args_, shared_);
    const ReferenceGrid& grid = args_.grid;
    const int references = args_.cell_columns * args_.cell_rows;
    for (int number = threadIdx.x / 32; number < references; number += kWarps) {
      const int column = column0_ + number % args_.cell_columns - grid.column;
      const int row = row0_ + number / args_.cell_columns - grid.row;
      if (column < 0 || column >= grid.columns || row < 0 || row >= grid.rows) continue;
      filter(column, row);
    }
  }

  // The cell's sums join those of the pixels.
  __device__ __forceinline__ void add_region() const {
    for (int row = threadIdx.x / 32; row < args_.height; row += kWarps) {
      const int y = y0_ + row - args_.out.y;
      if (y < 0 || y >= args_.out.height) continue;
      unsigned long long* const sums =
          args_.sums.removed + static_cast<size_t>(y) * args_.out.width;
      for (int column = threadIdx.x % 32; column < args_.width; column += 32) {
        const int x = x0_ + column - args_.out.x;
        const int* const at = region_ + row * kRow + column;
        const long long removed =
            static_cast<long long>(at[0]) * static_cast<int>(kFiner) + at[kFine];
        if (removed == 0 || x < 0 || x >= args_.out.width) continue;
        atomicAdd(sums + x, static_cast<unsigned long long>(removed));
      }
    }
  }

 private:
  static __device__ __forceinline__ bool holds(const Rect& rect, int x, int y) {
    return x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height;
  }

  __device__ __forceinline__ void filter(int column, int row) {
    const unsigned centre = args_.stage.radius | args_.stage.radius << 6;
    unsigned entry = kNoPatch;
    if (lane_.index < args_.stage.group) {
      entry =
          args_
              .groups[(static_cast<size_t>(row) * args_.grid.columns + column) * args_.stage.group +
                      lane_.index];
    }
    const int count = __popc(__ballot_sync(kFullWarp, entry != kNoPatch));
    const unsigned patch = entry == kNoPatch ? centre : entry;
    const int dx = patch & 63u, dy = patch >> 6;
    __syncwarp();
    offsets_[lane_.index] = (dy * kRow + dx) * sizeof(int);
    __syncwarp();
    const int x = args_.grid.x(args_.grid.column + column) - args_.stage.radius;
    const int y = args_.grid.y(args_.grid.row + row) - args_.stage.radius;
    const int weight = filter_count(count, x, y);
    const int mx = x + dx - args_.map.x, my = y + dy - args_.map.y;
    if (lane_.index < count && mx >= 0 && mx < args_.map.width && my >= 0 &&
        my < args_.map.height) {
      atomicAdd(args_.sums.weight + static_cast<size_t>(my) * args_.map.width + mx,
                static_cast<unsigned>(weight));
    }
  }

  __device__ __forceinline__ int filter_count(int count, int x, int y) {
    switch (count) {
      case 1:
        return filter_group<1>(x, y);
      case 2:
        return filter_group<2>(x, y);
      case 4:
        return filter_group<4>(x, y);
      case 8:
        return filter_group<8>(x, y);
      case 16:
        return filter_group<16>(x, y);
      default:
        return filter_group<kLargest>(x, y);
    }
  }

  // `x`, `y`: the search window's first pixel.
  template <int kCount>
  __device__ __forceinline__ int filter_group(int x, int y) {
    const int* const window = region_ + (y - y0_) * kRow + x - x0_;
    const float base =
        __int_as_float(window[args_.stage.radius * kRow + args_.stage.radius + kPilot]);
    int* const first = region_ + (y - y0_ + lane_.row) * kRow + x - x0_ + lane_.column;
    Group<kFull, kCount> group(args_, shared_, offsets_, lane_);
    const int weight = group.run(first, base);
    group.add(weight, first, x + lane_.column, y + lane_.row);
    return weight;
  }

  const FilterArgs& args_;
  const BlockShared& shared_;
  int* const region_;
  uint32_t* const offsets_;
  const int column0_, row0_, x0_, y0_;
  Lane lane_;
};

template <bool kFull, int kLargest>
__global__ void __launch_bounds__(kWarps * 32, 2)
    filter_cells(const __grid_constant__ FilterArgs args) {
  extern __shared__ int region[];
  __shared__ __align__(16) BlockShared shared;
  CellFilter<kFull, kLargest> cell(args, shared, region);
  cell.fill();
  fill_shared(args, shared);
  __syncthreads();
  cell.run();
  __syncthreads();
  cell.add_region();
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

size_t region_bytes(const FilterArgs& args) {
  return sizeof(int) * kRow * args.height;
}

// As many columns of references as a region's rows take; as many rows that two blocks fit on a
// multiprocessor, or one, if two only did with a few. False where none fits.
bool set_cell(const StageJob& job, FilterArgs& args) {
  constexpr int kFewRows = 4;
  const Bm3dStage& stage = *job.stage;
  const int least = 2 * stage.radius + kPatchSide;
  if (least > kWidth) return false;
  args.cell_columns = std::min(kLargestCell, (kWidth - least) / stage.step + 1);
  args.width = least + (args.cell_columns - 1) * stage.step;
  const auto fits = [&](int blocks) {
    args.height = least + (args.cell_rows - 1) * stage.step;
    const size_t bytes = region_bytes(args) + sizeof(BlockShared);
    return bytes <= job.limits.shared_bytes && job.blocks_that_fit(bytes) >= blocks;
  };
  for (args.cell_rows = kLargestCell; args.cell_rows > kFewRows; --args.cell_rows) {
    if (fits(2)) return true;
  }
  for (args.cell_rows = kLargestCell; args.cell_rows > 0; --args.cell_rows) {
    if (fits(1)) return true;
  }
  return false;
}

void set_variance(float variance, FilterArgs& args) {
  args.variance = variance;
  for (int i = 0; i < 6; ++i) {
    args.variance_gain[i] = variance * static_cast<float>(1 << i) * (1 - 4 * kTruncated);
  }
  const float deviation = std::sqrt(variance);
  args.steps = kDeviationSteps / deviation;
}

}  // namespace

float patch_sums_ratio(const Bm3dStage& stage, int c) {
  return kPatchWeightSteps * std::sqrt(stage.shrink[c]) / kDeviationSteps;
}

bool filter_stage_fits(const StageJob& job) {
  FilterArgs args{};
  return job.stage->patch <= kPatchSide && set_cell(job, args);
}

void filter_stage(const StageJob& job, int c, const ProgressSpan& progress) {
  const Bm3dStage& stage = *job.stage;
  FilterArgs args{};
  static_cast<PilotedArgs&>(args) = piloted_args(job, c);
  set_variance(stage.shrink[c], args);
  set_padded(stage, args);
  set_cell(job, args);
  const size_t bytes = region_bytes(args);
  const Kernel kernel =
      stage.patch == kPatchSide ? kernel_for<true>(stage.group) : kernel_for<false>(stage.group);
  const CellGrid cells = cells_of(job, args.cell_columns, args.cell_rows);
  args.first_column = cells.column;
  launch_in_bands(*job.method, {cells.rows, cells.rows_at_once, progress}, [&](const Band& band) {
    args.first_row = cells.row + band.first;
    launch("BM3D filtering", kernel,
           {dim3(cells.columns, band.count), kWarps * 32, bytes, job.method->stream}, args);
  });
}

}  // namespace grainless::cuda
