// SPDX-License-Identifier: MIT
// The ridge filter (engine/boundary/plan.h: GroupRule::kRidge). A warp filters two groups, a half
// of its lanes each: lane i of a half holds patches i and i + 16 and these rows of the matrix, so
// that a value read from shared memory, which columns and pixels are exchanged through, serves two
// rows. The warps of a block share a cell of references with its pixels and its sums, which are
// integers: they add whenever they are ready.
#include <algorithm>
#include <cmath>

#include "aggregate.cuh"
#include "cuda/frame/warp.cuh"
#include "cuda/runtime/check.h"
#include "engine/boundary/bm3d_math.h"
#include "select.cuh"
#include "stage.cuh"

namespace grainless::cuda {
namespace {

constexpr int kWarps = 8;        // of a block
constexpr int kLargestCell = 8;  // references a side

// A cell's sums are of 32 bits, of up to 2048 patches a pixel. Weights are 1 to 32.
constexpr float kWeightSteps = 1 << 15;
// R = w * kaiser * (what is removed) of patches with a weight up to kSmallWeight is summed in steps
// kFiner times as small as that of others, apart from it. With |R| up to kLargestR steps sums stay
// under 2^31; more than that, of 8 times the noise's deviation and more, as where a hot pixel is
// removed, is added in global memory at once.
constexpr float kFiner = 16, kSmallWeight = 2;
constexpr float kLargestR = 1048000;
constexpr float kDeviationSteps = kFiner * 4096;
static_assert(kLargestCell * kLargestCell * kMaxGroup == 2048);

// What a cell's block needs, by value.
struct RidgeArgs {
  const float *noisy, *pilot;  // of one channel, at the rectangle's first pixel
  Rect noisy_rect, pilot_rect, out;
  int noisy_stride, pilot_stride;
  ReferenceGrid grid;
  const uint16_t* groups;
  PixelSums* sums;
  StagePart stage;
  int cell;                     // references a side
  int first_column, first_row;  // of the launch, in cells of the image's grid
  int width, height;            // of the pixels that a cell's patches can reach
  float variance;
  float steps;  // of R, finer ones
  float kaiser[kMaxPatch];
};

constexpr int kHalf = 16;  // lanes a group
constexpr int kRows = kMaxGroup / kHalf;
static_assert(kRows == 2);

// The rows of the matrix that a lane holds.
using Rows = float[kRows][kMaxGroup];

// One group's part of shared memory, of float4: a column of the matrix, and a row of the patches'
// pixels, kMaxGroup floats a pixel. The halves of a warp take different banks.
struct GroupShared {
  float* column;
  float* pixels;

  static __host__ __device__ constexpr int floats(int patch) {
    return (patch + 1) * kMaxGroup + kHalf;
  }
  __device__ GroupShared(float* shared, int patch, int number)
      : column(shared + number * floats(patch)), pixels(column + kMaxGroup) {}
};

// A cell's region in shared memory: sums, and its pixels where they are held.
struct Region {
  int *coarse, *fine;  // R
  unsigned* weight;
  float *noisy, *pilot;
};

// A lane's patches of one plane.
struct LanePatches {
  const float* at[kRows];
  bool exists[kRows];  // in the group
  int stride;
  float base;  // subtracted from its pixels

  __device__ __forceinline__ float pixel(int a, int x, int y) const {
    return exists[a] ? at[a][y * stride + x] - base : 0.0f;
  }
};

__device__ __forceinline__ float half_sum(float v) {
#pragma unroll
  for (int distance = kHalf / 2; distance >= 1; distance /= 2) {
    v += __shfl_xor_sync(kFullWarp, v, distance);
  }
  return v;
}

// Lane of its half.
__device__ __forceinline__ int lane_of_half() {
  return threadIdx.x % kHalf;
}

// Makes the group's mean the base, in two steps so that little is lost of a bright patch.
__device__ __forceinline__ void subtract_mean(LanePatches& lane, float near, int patch, int count) {
  lane.base = near;
  float sum = 0;
  for (int y = 0; y < patch; ++y) {
    for (int x = 0; x < patch; ++x) sum += lane.pixel(0, x, y) + lane.pixel(1, x, y);
  }
  lane.base += half_sum(sum) / static_cast<float>(max(count, 1) * patch * patch);
}

// Calls body(x, values) for each pixel of patch row y, values being those of all patches.
template <typename Body>
__device__ __forceinline__ void for_row(const LanePatches& lane, int patch, int y,
                                        const GroupShared& shared, const Body& body) {
  __syncwarp();
  for (int x = 0; x < patch; ++x) {
    float* const to = shared.pixels + x * kMaxGroup + lane_of_half();
    to[0] = lane.pixel(0, x, y);
    to[kHalf] = lane.pixel(1, x, y);
  }
  __syncwarp();
  for (int x = 0; x < patch; ++x) body(x, shared.pixels + x * kMaxGroup);
}

// sum over j of rows[a][j] * values[j]
__device__ __forceinline__ void dot(const Rows& rows, const float* values, float (&sums)[kRows]) {
#pragma unroll
  for (int j = 0; j < kMaxGroup; j += 4) {
    const float4 v = *reinterpret_cast<const float4*>(values + j);
#pragma unroll
    for (int a = 0; a < kRows; ++a) {
      sums[a] = fmaf(rows[a][j], v.x, j == 0 ? 0.0f : sums[a]);
      sums[a] = fmaf(rows[a][j + 1], v.y, sums[a]);
      sums[a] = fmaf(rows[a][j + 2], v.z, sums[a]);
      sums[a] = fmaf(rows[a][j + 3], v.w, sums[a]);
    }
  }
}

// rows[a] += factor[a] * values
__device__ __forceinline__ void add_scaled(Rows& rows, const float (&factor)[kRows],
                                           const float* values) {
#pragma unroll
  for (int j = 0; j < kMaxGroup; j += 4) {
    const float4 v = *reinterpret_cast<const float4*>(values + j);
#pragma unroll
    for (int a = 0; a < kRows; ++a) {
      rows[a][j] = fmaf(factor[a], v.x, rows[a][j]);
      rows[a][j + 1] = fmaf(factor[a], v.y, rows[a][j + 1]);
      rows[a][j + 2] = fmaf(factor[a], v.z, rows[a][j + 2]);
      rows[a][j + 3] = fmaf(factor[a], v.w, rows[a][j + 3]);
    }
  }
}

__device__ __forceinline__ void clear(float (&row)[kMaxGroup]) {
#pragma unroll
  for (float& entry : row) entry = 0;
}

// Adds `ridge` to the diagonal; the matrix becomes minus its inverse, by symmetric sweeps of all
// its pivots. It is positive definite with no eigenvalue under `ridge` then. Rows turn by a column
// a sweep, so that the pivot's is always the first: registers can't be indexed, and all sweeps as
// code would not fit in caches.
__device__ __forceinline__ void invert(Rows& rows, int count, float ridge,
                                       const GroupShared& shared) {
  const int lane = lane_of_half();
#pragma unroll
  for (int half = 0; half < kRows; ++half) {
#pragma unroll 1
    for (int i = 0; i < kHalf; ++i) {
      const int p = half * kHalf + i;
      const bool swept = p < count, pivot = swept && lane == i;
      if (pivot) rows[half][0] += ridge;
      __syncwarp();
#pragma unroll
      for (int a = 0; a < kRows; ++a) {
        shared.column[(lane + a * kHalf - p) & (kMaxGroup - 1)] = rows[a][0];
      }
      __syncwarp();
      const float r = swept ? 1.0f / fmaxf(shared.column[0], ridge) : 0.0f;
      float factor[kRows], first[kRows];
#pragma unroll
      for (int a = 0; a < kRows; ++a) {
        factor[a] = rows[a][0] * -r;
        if (a == half && pivot) factor[a] = r;
        first[a] = swept ? -factor[a] : rows[a][0];
      }
      if (pivot) clear(rows[half]);
#pragma unroll
      for (int j = 0; j < kMaxGroup; j += 4) {
        const float4 v = *reinterpret_cast<const float4*>(shared.column + j);
#pragma unroll
        for (int a = 0; a < kRows; ++a) {
          float(&row)[kMaxGroup] = rows[a];
          if (j > 0) row[j - 1] = fmaf(factor[a], v.x, row[j]);
          row[j] = fmaf(factor[a], v.y, row[j + 1]);
          row[j + 1] = fmaf(factor[a], v.z, row[j + 2]);
          row[j + 2] = fmaf(factor[a], v.w, row[j + 3]);
        }
      }
#pragma unroll
      for (int a = 0; a < kRows; ++a) rows[a][kMaxGroup - 1] = first[a];
    }
  }
}

// Weights of the lane's patches in the aggregation; T - 1 is nv * rows.
__device__ __forceinline__ void weights_of(const Rows& rows, float nv, int count, int pixels,
                                           float (&weights)[kRows]) {
  const auto groups = static_cast<float>(max(count, 1));
#pragma unroll
  for (int a = 0; a < kRows; ++a) {
    float sum = 1.0f / (groups * static_cast<float>(pixels));
#pragma unroll
    for (int j = 0; j < kMaxGroup; ++j) {
      const bool own = j / kHalf == a && j % kHalf == lane_of_half();
      const float t = fmaf(nv, rows[a][j], own ? 1.0f : 0.0f);
      sum = fmaf(t, t, sum);
    }
    weights[a] = 1.0f / fminf(fmaxf(sum, 1.0f / groups), 1.0f);
  }
}

// (T - 1) / nv of the group, whose pilot is given.
__device__ __forceinline__ void make_filter(const LanePatches& pilot, int patch, float nv,
                                            int count, const GroupShared& shared, Rows& rows) {
#pragma unroll
  for (int a = 0; a < kRows; ++a) clear(rows[a]);
  float own = 0;
  for (int y = 0; y < patch; ++y) {
    for_row(pilot, patch, y, shared, [&](int, const float* values) {
      const float mine[kRows] = {values[lane_of_half()], values[lane_of_half() + kHalf]};
      own = fmaf(mine[0], mine[0], fmaf(mine[1], mine[1], own));
      add_scaled(rows, mine, values);
    });
  }
  const float energy = half_sum(own);
  invert(rows, count, ridge_of(nv, energy), shared);
  // Energies beyond float's range: nothing is removed.
  if (!(energy <= kMostRidgeEnergy)) {
#pragma unroll
    for (int a = 0; a < kRows; ++a) clear(rows[a]);
  }
}

// A block's way through its cell. kHeld: the pixels lie in shared memory, too. kPatch: the patches'
// side, or 0 for any.
template <bool kHeld, int kPatch>
class RidgeCell {
 public:
  __device__ __forceinline__ RidgeCell(const RidgeArgs& args, const Region& region,
                                       const GroupShared& shared)
      : args_(args),
        region_(region),
        shared_(shared),
        lane_(threadIdx.x % 32),
        column0_((args.first_column + static_cast<int>(blockIdx.x)) * args.cell),
        row0_((args.first_row + static_cast<int>(blockIdx.y)) * args.cell),
        x0_(args.grid.x(column0_) - args.stage.radius),
        y0_(args.grid.y(row0_) - args.stage.radius) {}

  // Sums of 0, and the pixels; 0 outside of the planes.
  __device__ __forceinline__ void fill() const {
    for (int row = threadIdx.x / 32; row < args_.height; row += kWarps) {
      for (int column = lane_; column < args_.width; column += 32) {
        const int i = row * args_.width + column, x = x0_ + column, y = y0_ + row;
        region_.coarse[i] = region_.fine[i] = 0;
        region_.weight[i] = 0;
        if constexpr (kHeld) {
          region_.noisy[i] = pixel_of(args_.noisy, args_.noisy_rect, args_.noisy_stride, x, y);
          region_.pilot[i] = pixel_of(args_.pilot, args_.pilot_rect, args_.pilot_stride, x, y);
        }
      }
    }
  }

  __device__ __forceinline__ void run() const {
    const ReferenceGrid& grid = args_.grid;
    const int references = args_.cell * args_.cell, half = lane_ / kHalf;
    for (int first = threadIdx.x / 32 * 2; first < references; first += 2 * kWarps) {
      const int number = first + half;
      const int column = column0_ + number % args_.cell - grid.column;
      const int row = row0_ + number / args_.cell - grid.row;
      const bool needed = number < references && column >= 0 && column < grid.columns && row >= 0 &&
                          row < grid.rows;
      if (__any_sync(kFullWarp, needed)) filter(needed, column, row);
    }
  }

  // The cell's sums join those of the pixels.
  __device__ __forceinline__ void add_region() const {
    for (int row = threadIdx.x / 32; row < args_.height; row += kWarps) {
      const int y = y0_ + row - args_.out.y;
      if (y < 0 || y >= args_.out.height) continue;
      for (int column = lane_; column < args_.width; column += 32) {
        const int i = row * args_.width + column, x = x0_ + column - args_.out.x;
        const unsigned weight = region_.weight[i];
        if (weight == 0 || x < 0 || x >= args_.out.width) continue;
        const long long removed =
            static_cast<long long>(region_.coarse[i]) * static_cast<int>(kFiner) + region_.fine[i];
        add_steps(args_.sums + static_cast<size_t>(y) * args_.out.width + x, removed, weight);
      }
    }
  }

 private:
  static __device__ __forceinline__ float pixel_of(const float* plane, const Rect& rect, int stride,
                                                   int x, int y) {
    const bool inside =
        x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height;
    return inside ? __ldg(plane + static_cast<ptrdiff_t>(y - rect.y) * stride + x - rect.x) : 0.0f;
  }

  __device__ __forceinline__ int patch() const { return kPatch > 0 ? kPatch : args_.stage.patch; }

  // Where a lane's patch begins: in the region, and in the image.
  struct Place {
    bool exists;
    int at, x, y;
  };

  __device__ __forceinline__ LanePatches patches(const Place (&places)[kRows], const float* held,
                                                 const float* plane, const Rect& rect,
                                                 int stride) const {
    LanePatches result;
    result.stride = kHeld ? args_.width : stride;
#pragma unroll
    for (int a = 0; a < kRows; ++a) {
      const Place& place = places[a];
      const ptrdiff_t offset = static_cast<ptrdiff_t>(place.y - rect.y) * stride + place.x - rect.x;
      result.exists[a] = place.exists;
      result.at[a] =
          kHeld ? held + (place.exists ? place.at : 0) : plane + (place.exists ? offset : 0);
    }
    return result;
  }

  // The half's group of this reference; of none, where it isn't needed.
  __device__ __forceinline__ int place_patches(bool needed, int column, int row,
                                               Place (&places)[kRows]) const {
    const int group = needed ? args_.stage.group : 0;
    const size_t reference =
        needed ? static_cast<size_t>(row) * args_.grid.columns + column : size_t{0};
    const uint16_t* const entries = args_.groups + reference * args_.stage.group;
    int count = 0;
#pragma unroll
    for (int a = 0; a < kRows; ++a) {
      const int i = lane_ % kHalf + a * kHalf;
      const int entry = i < group ? entries[i] : kNoPatch;
      Place& place = places[a];
      place.exists = entry != kNoPatch;
      place.x = args_.grid.x(args_.grid.column + column) - args_.stage.radius + (entry & 63);
      place.y = args_.grid.y(args_.grid.row + row) - args_.stage.radius + (entry >> 6);
      place.at = (place.y - y0_) * args_.width + place.x - x0_;
      const unsigned all = __ballot_sync(kFullWarp, place.exists);
      count += __popc(all >> (lane_ & kHalf) & 0xffffu);
    }
    return count;
  }

  __device__ __forceinline__ void filter(bool needed, int column, int row) const {
    Place places[kRows];
    const int count = place_patches(needed, column, row, places);
    LanePatches pilot =
        patches(places, region_.pilot, args_.pilot, args_.pilot_rect, args_.pilot_stride);
    LanePatches noisy =
        patches(places, region_.noisy, args_.noisy, args_.noisy_rect, args_.noisy_stride);
    pilot.base = 0;
    const float near = __shfl_sync(kFullWarp, pilot.pixel(0, 0, 0), lane_ & kHalf);
    subtract_mean(pilot, near, patch(), count);
    subtract_mean(noisy, near, patch(), count);
    const float nv = static_cast<float>(patch() * patch()) * args_.variance;
    Rows rows;
    make_filter(pilot, patch(), nv, count, shared_, rows);
    float weights[kRows];
    weights_of(rows, nv, count, patch() * patch(), weights);
    float steps[kRows];  // R of window * (what is kept)
#pragma unroll
    for (int a = 0; a < kRows; ++a) {
      steps[a] = weights[a] * -nv * args_.steps * (is_fine(weights[a]) ? 1.0f : 1 / kFiner);
    }
    for (int y = 0; y < patch(); ++y) {
      for_row(noisy, patch(), y, shared_, [&](int x, const float* values) {
        float kept[kRows];
        dot(rows, values, kept);
        const float window = args_.kaiser[y] * args_.kaiser[x];
#pragma unroll
        for (int a = 0; a < kRows; ++a) {
          if (places[a].exists) add(places[a], x, y, weights[a], window, steps[a] * kept[a]);
        }
      });
    }
  }

  static __device__ __forceinline__ bool is_fine(float weight) { return weight <= kSmallWeight; }

  // `removed` is in steps, but for the window.
  __device__ __forceinline__ void add(const Place& place, int x, int y, float weight, float window,
                                      float removed) const {
    const int pixel = place.at + y * args_.width + x;
    const float value = window * removed;
    atomicAdd(region_.weight + pixel,
              static_cast<unsigned>(__float2int_rn(weight * kWeightSteps * window)));
    if (fabsf(value) <= kLargestR) {
      atomicAdd((is_fine(weight) ? region_.fine : region_.coarse) + pixel, __float2int_rn(value));
    } else {
      const int finer = is_fine(weight) ? 1 : static_cast<int>(kFiner);
      add_large(value, finer, place.x + x, place.y + y);
    }
  }

  // A hot pixel's: straight to the sums of pixels, which are wider.
  __device__ __forceinline__ void add_large(float value, int finer, int x, int y) const {
    x -= args_.out.x;
    y -= args_.out.y;
    if (x < 0 || x >= args_.out.width || y < 0 || y >= args_.out.height) return;
    const float bounded = fminf(fmaxf(value, -kLargestSteps), kLargestSteps);
    add_steps(args_.sums + static_cast<size_t>(y) * args_.out.width + x,
              __float2ll_rn(bounded) * finer, 0);
  }

  const RidgeArgs& args_;
  const Region& region_;
  const GroupShared& shared_;
  const int lane_;
  const int column0_, row0_, x0_, y0_;
};

template <bool kHeld, int kPatch>
__global__ void __launch_bounds__(kWarps * 32, 2)
    filter_ridge(const __grid_constant__ RidgeArgs args) {
  extern __shared__ float4 memory[];
  float* const exchange = reinterpret_cast<float*>(memory);
  const int pixels = args.width * args.height;
  int* const sums =
      reinterpret_cast<int*>(exchange + 2 * kWarps * GroupShared::floats(args.stage.patch));
  float* const planes = reinterpret_cast<float*>(sums + 3 * pixels);
  const Region region{sums, sums + pixels, reinterpret_cast<unsigned*>(sums + 2 * pixels), planes,
                      planes + pixels};
  const GroupShared shared(exchange, args.stage.patch, threadIdx.x / kHalf);
  const RidgeCell<kHeld, kPatch> cell(args, region, shared);
  cell.fill();
  __syncthreads();
  cell.run();
  __syncthreads();
  cell.add_region();
}

using Kernel = void (*)(RidgeArgs);

Kernel kernel_for(int patch, bool held) {
  constexpr int kUsualPatch = 5;
  if (!held) return filter_ridge<false, 0>;
  return patch == kUsualPatch ? filter_ridge<true, kUsualPatch> : filter_ridge<true, 0>;
}

size_t shared_bytes(const RidgeArgs& args, bool held) {
  return sizeof(float) * 2 * kWarps * GroupShared::floats(args.stage.patch) +
         (held ? 5 : 3) * sizeof(int) * args.width * args.height;
}

// The largest cell of which two blocks fit on a multiprocessor, but no small one for that; without
// its pixels where not even a single reference's fit. Returns whether they are held.
bool set_cell(const StageJob& job, RidgeArgs& args) {
  constexpr int kEnoughBlocks = 2, kSmallestCell = 4;
  const Bm3dStage& stage = *job.stage;
  for (const bool held : {true, false}) {
    for (args.cell = kLargestCell; args.cell > 0; --args.cell) {
      args.width = (args.cell - 1) * stage.step + 2 * stage.radius + stage.patch;
      args.height = args.width;
      const size_t bytes = shared_bytes(args, held);
      const int enough = args.cell > kSmallestCell ? kEnoughBlocks : 1;
      if (bytes <= job.limits.shared_bytes && job.blocks_that_fit(bytes) >= enough) return held;
    }
  }
  too_little_shared_memory();
}

RidgeArgs make_args(const StageJob& job, int c) {
  const Bm3dStage& stage = *job.stage;
  RidgeArgs args{};
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
  args.stage = part_of(stage);
  args.variance = stage.shrink[c];
  args.steps = kDeviationSteps / std::sqrt(stage.shrink[c]);
  std::copy_n(stage.kaiser, stage.patch, args.kaiser);
  return args;
}

}  // namespace

float ridge_sums_ratio(const Bm3dStage& stage, int c) {
  return kWeightSteps * std::sqrt(stage.shrink[c]) / kDeviationSteps;
}

void filter_stage_ridge(const StageJob& job, int c, const ProgressSpan& progress) {
  const Bm3dStage& stage = *job.stage;
  RidgeArgs args = make_args(job, c);
  const bool held = set_cell(job, args);
  const ReferenceGrid& grid = job.grid;
  args.first_column = grid.column / args.cell;
  const int columns = (grid.column + grid.columns - 1) / args.cell - args.first_column + 1;
  const int first_row = grid.row / args.cell;
  const int rows = (grid.row + grid.rows - 1) / args.cell - first_row + 1;
  // The work of a group grows with its patches' pixels.
  const int size = std::max(1, stage.patch * stage.patch / 32);
  const int cells =
      kReferencesPerMultiprocessor * job.limits.multiprocessors / size / (args.cell * args.cell);
  const int at_once = std::clamp(cells / columns, 1, kMostGridRows);
  launch_in_bands(*job.method, {rows, at_once, progress}, [&](const Band& band) {
    args.first_row = first_row + band.first;
    launch("BM3D ridge filter", kernel_for(stage.patch, held),
           {dim3(columns, band.count), kWarps * 32, shared_bytes(args, held), job.method->stream},
           args);
  });
}

}  // namespace grainless::cuda
