// SPDX-License-Identifier: MIT
// The ridge filter (engine/boundary/plan.h: GroupRule::kRidge). A warp filters a group with the
// matrix units (matrix.cuh), from the pixels on: lane 4 g + t loads those of the products' factors
// that it holds. The warps of a block share a cell of references with its pixels and its sums of
// what is removed, which are integers: they add whenever they are ready. Weights are summed a
// patch, not a pixel, in global memory (stage.cuh: PatchSums).
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cuda/frame/warp.cuh"
#include "cuda/runtime/check.h"
#include "engine/boundary/bm3d_math.h"
#include "matrix.cuh"
#include "select.cuh"
#include "stage.cuh"

namespace grainless::cuda {
namespace {

constexpr int kWarps = 8;        // of a block
constexpr int kLargestCell = 8;  // references a side

// Weights are 1 to 32: a position's sum of up to 63^2 stays under 2^32.
constexpr float kWeightSteps = 1 << 15;
static_assert(63.0 * 63 * kMaxGroup * kWeightSteps < 4294967296.0);
// R = w * kaiser * (what is removed) of patches with a weight up to kSmallWeight is summed in steps
// kFiner times as small as that of others, apart from it. With |R| up to kLargestR steps a cell's
// sums stay under 2^31; more than that, of 8 times the noise's deviation and more, as where a hot
// pixel is removed, is added in global memory at once.
constexpr float kFiner = 16, kSmallWeight = 2;
constexpr float kLargestR = 1048000;
constexpr float kDeviationSteps = kFiner * 4096;
static_assert(kLargestCell * kLargestCell * kMaxGroup == 2048 && kWarps <= kLargestCell);

// What a cell's block needs, by value.
struct RidgeArgs : PilotedArgs {
  int cell_columns, cell_rows;  // references of a cell
  int first_column, first_row;  // of the launch, in cells of the image's grid
  int width, height;            // of the pixels that a cell's patches can reach
  int stride;                   // of the region in shared memory
  const float* share;           // of the noise, at its rectangle's first pixel; null: all of it
  Rect share_rect;
  int share_stride;
  float variance;
  float steps;  // of R, finer ones
  float kaiser[kMaxPatch];
};

// A pixel of a patch. Those that fill up the last eight are the first one's, without a window.
struct PatchPixel {
  int at;  // in the region, in bytes
  short x, y;
  float window;
};

__host__ __device__ constexpr int filled_pixels(int patch) {
  return (patch * patch + 7) / 8 * 8;
}

// A cell's region in shared memory: sums of R, and its pixels where they are held.
struct Region {
  int *coarse, *fine;
  float *noisy, *pilot;
  PatchPixel* pixels;  // of a patch
};

// A block's way through its cell. kHeld: the pixels lie in shared memory, too. kPatch: the patches'
// side, or 0 for any.
template <bool kHeld, int kPatch>
class RidgeCell {
 public:
  __device__ __forceinline__ RidgeCell(const RidgeArgs& args, const Region& region)
      : args_(args),
        region_(region),
        lane_(threadIdx.x % 32),
        g_(lane_ / 4),
        t_(lane_ % 4),
        column0_((args.first_column + static_cast<int>(blockIdx.x)) * args.cell_columns),
        row0_((args.first_row + static_cast<int>(blockIdx.y)) * args.cell_rows),
        x0_(args.grid.x(column0_) - args.stage.radius),
        y0_(args.grid.y(row0_) - args.stage.radius) {}

  // Sums of 0, the pixels, 0 outside of the planes, and the table of a patch's pixels.
  __device__ __forceinline__ void fill() const {
    for (int row = threadIdx.x / 32; row < args_.height; row += kWarps) {
      for (int column = lane_; column < args_.width; column += 32) {
        const int i = row * args_.stride + column, x = x0_ + column, y = y0_ + row;
        region_.coarse[i] = region_.fine[i] = 0;
        if constexpr (kHeld) {
          region_.noisy[i] = pixel_of(args_.noisy, args_.noisy_rect, args_.noisy_stride, x, y);
          region_.pilot[i] = pixel_of(args_.pilot, args_.pilot_rect, args_.pilot_stride, x, y);
        }
      }
    }
    for (int i = threadIdx.x; i < filled_pixels(patch()); i += kWarps * 32) {
      const int x = i % patch(), y = i / patch();
      const bool inside = i < patch() * patch();
      region_.pixels[i] = {inside ? bytes(y * args_.stride + x) : 0,
                           static_cast<short>(inside ? x : 0), static_cast<short>(inside ? y : 0),
                           inside ? args_.kaiser[y] * args_.kaiser[x] : 0.0f};
    }
  }

  // The cell's sums join those of the pixels.
  __device__ __forceinline__ void add_region() const {
    for (int row = threadIdx.x / 32; row < args_.height; row += kWarps) {
      const int y = y0_ + row - args_.out.y;
      if (y < 0 || y >= args_.out.height) continue;
      unsigned long long* const sums =
          args_.sums.removed + static_cast<size_t>(y) * args_.out.width;
      for (int column = lane_; column < args_.width; column += 32) {
        const int i = row * args_.stride + column, x = x0_ + column - args_.out.x;
        const long long removed =
            static_cast<long long>(region_.coarse[i]) * static_cast<int>(kFiner) + region_.fine[i];
        if (removed == 0 || x < 0 || x >= args_.out.width) continue;
        atomicAdd(sums + x, static_cast<unsigned long long>(removed));
      }
    }
  }

  __device__ __forceinline__ void run() const {
    const ReferenceGrid& grid = args_.grid;
    const int references = args_.cell_columns * args_.cell_rows;
    for (int number = threadIdx.x / 32; number < references; number += kWarps) {
      const int column = column0_ + number % args_.cell_columns - grid.column;
      const int row = row0_ + number / args_.cell_columns - grid.row;
      if (column < 0 || column >= grid.columns || row < 0 || row >= grid.rows) continue;
      filter(column, row);
    }
  }

 private:
  // Of a pixel, in shared memory or a plane, in bytes.
  using Offset = std::conditional_t<kHeld, int, ptrdiff_t>;

  template <typename T>
  static __device__ __forceinline__ T bytes(T pixels) {
    return pixels * static_cast<T>(sizeof(float));
  }

  // A plane's patches as a lane needs them. In place of one that doesn't exist the first is read.
  template <int kCount>
  struct Patches {
    const float* pixels;
    int stride;
    Offset at[kCount];
  };

  static __device__ __forceinline__ float pixel_of(const float* plane, const Rect& rect, int stride,
                                                   int x, int y) {
    const bool inside =
        x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height;
    return inside ? __ldg(plane + static_cast<ptrdiff_t>(y - rect.y) * stride + x - rect.x) : 0.0f;
  }

  __device__ __forceinline__ int patch() const { return kPatch > 0 ? kPatch : args_.stage.patch; }
  __device__ __forceinline__ int pixels() const { return patch() * patch(); }

  template <int kCount>
  __device__ __forceinline__ float pixel(const Patches<kCount>& patches, int a,
                                         const PatchPixel& at) const {
    const Offset offset = kHeld ? static_cast<Offset>(at.at)
                                : bytes(static_cast<Offset>(at.y) * patches.stride + at.x);
    return at_offset(patches.pixels, patches.at[a] + offset);
  }

  static __device__ __forceinline__ float at_offset(const float* pixels, Offset offset) {
    return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(pixels) + offset);
  }

  // Whether the pixels from i on fill up the last eight.
  __device__ __forceinline__ bool may_fill(int i) const { return i + 8 > pixels(); }
  __device__ __forceinline__ bool fills(int i) const { return i >= pixels(); }

  // The group's mean. `near`: a pixel of it, so that little is lost of a bright patch.
  __device__ __forceinline__ float mean_of(const Patches<4>& patches, float near,
                                           const float (&exists)[4], int count) const {
    float sums[4] = {};
#pragma unroll(kPatch > 0 ? kMaxPatch : 1)
    for (int i = 0; i < filled_pixels(patch()); i += 8) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int number = i + 2 * t_ + k;
        if (may_fill(i) && fills(number)) continue;
        const PatchPixel at = region_.pixels[number];
#pragma unroll
        for (int a = 0; a < 4; ++a) sums[a] += pixel(patches, a, at) - near;
      }
    }
    float sum = 0;
#pragma unroll
    for (int a = 0; a < 4; ++a) sum = fmaf(exists[a], sums[a], sum);
    return near + warp_sum(sum) / static_cast<float>(count * pixels());
  }

  // The group's entry of patch lane_: where it begins in the image.
  struct Place {
    bool exists;
    int x, y;
  };

  __device__ __forceinline__ Place place_of(int column, int row) const {
    const uint16_t* const entries =
        args_.groups + (static_cast<size_t>(row) * args_.grid.columns + column) * args_.stage.group;
    int entry = lane_ < args_.stage.group ? entries[lane_] : kNoPatch;
    const bool exists = entry != kNoPatch;
    const int first = __shfl_sync(kFullWarp, entry, 0);
    if (!exists) entry = first;
    return {exists, args_.grid.x(args_.grid.column + column) - args_.stage.radius + (entry & 63),
            args_.grid.y(args_.grid.row + row) - args_.stage.radius + (entry >> 6)};
  }

  // Of the patches whose numbers `number_of` tells.
  template <int kCount, typename NumberOf>
  __device__ __forceinline__ Patches<kCount> patches_of(const Place& place, const float* held,
                                                        const float* plane, const Rect& rect,
                                                        int stride, NumberOf number_of) const {
    Offset own;
    if constexpr (kHeld) {
      own = region_offset(place);
    } else {
      own = bytes(static_cast<ptrdiff_t>(place.y - rect.y) * stride + place.x - rect.x);
    }
    Patches<kCount> result;
    result.pixels = kHeld ? held : plane;
    result.stride = stride;
#pragma unroll
    for (int a = 0; a < kCount; ++a) result.at[a] = __shfl_sync(kFullWarp, own, number_of(a));
    return result;
  }

  __device__ __forceinline__ int region_offset(const Place& place) const {
    return bytes((place.y - y0_) * args_.stride + place.x - x0_);
  }

  // X X' of the pilot's patches g, g + 8, g + 16 and g + 24; those that don't exist are 0.
  __device__ __forceinline__ SymmetricMatrix multiply(const Patches<4>& pilot, float mean,
                                                      const float (&exists)[4]) const {
    SymmetricMatrix matrix{};
    float base[4];
#pragma unroll
    for (int a = 0; a < 4; ++a) base[a] = -mean * exists[a];
#pragma unroll(kPatch > 0 ? kMaxPatch : 1)
    for (int i = 0; i < filled_pixels(patch()); i += 8) {
      Tile tiles[2];
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int number = i + 2 * t_ + k;
        const bool filling = may_fill(i) && fills(number);
        const PatchPixel at = region_.pixels[number];
#pragma unroll
        for (int a = 0; a < 4; ++a) {
          const float v = fmaf(pixel(pilot, a, at), exists[a], base[a]);
          tiles[a / 2].v[a % 2 * 2 + k] = filling ? 0.0f : v;
        }
      }
      const TileFactors first(tiles[0]), second(tiles[1]);
      multiply_add(matrix.first, first, first);
      multiply_add(matrix.lower, second, first);
      multiply_add(matrix.second, second, second);
    }
    return matrix;
  }

  // (T - 1) / nv of the group.
  __device__ __forceinline__ SymmetricMatrix make_filter(const Patches<4>& pilot, float mean,
                                                         const float (&exists)[4], float nv) const {
    SymmetricMatrix matrix = multiply(pilot, mean, exists);
    const float energy = warp_sum(own_diagonal(matrix.first) + own_diagonal(matrix.second));
    const float ridge = ridge_of(nv, energy);
    add_to_diagonal(matrix.first, ridge);
    add_to_diagonal(matrix.second, ridge);
    invert(matrix, ridge);
    // Energies beyond float's range: nothing is removed.
    if (!(energy <= kMostRidgeEnergy)) matrix = SymmetricMatrix{};
    return matrix;
  }

  // Of patches g and g + 8 of the lane's rows of T, whose parts are `own` and `other`, of which
  // `own` holds the diagonal.
  __device__ __forceinline__ float weight_of(const Square& own, const Square& other, int half,
                                             float nv, int count) const {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int column = k / 2 * 8 + 2 * t_ + k % 2;
      const float t =
          fmaf(nv, own.half[k / 2].v[2 * half + k % 2], column == g_ + 8 * half ? 1.0f : 0.0f);
      const float u = nv * other.half[k / 2].v[2 * half + k % 2];
      sum = fmaf(t, t, fmaf(u, u, sum));
    }
    sum += __shfl_xor_sync(kFullWarp, sum, 1);
    sum += __shfl_xor_sync(kFullWarp, sum, 2);
    const auto group = static_cast<float>(count);
    sum += 1.0f / (group * static_cast<float>(pixels()));
    return 1.0f / fminf(fmaxf(sum, 1.0f / group), 1.0f);
  }

  // Of the lane's rows: where R of a patch is summed, and its steps, of window * (what the matrix
  // makes of the noisy pixels). A patch that doesn't exist adds 0 to the first's.
  struct Row {
    char* sums;
    float steps;
  };

  // n v of the group of that reference.
  __device__ __forceinline__ float noise_of(int column, int row) const {
    float variance = args_.variance;
    if (args_.share != nullptr) {
      const int x = args_.grid.x(args_.grid.column + column) + patch() / 2 - args_.share_rect.x;
      const int y = args_.grid.y(args_.grid.row + row) + patch() / 2 - args_.share_rect.y;
      const float share = __ldg(args_.share + static_cast<ptrdiff_t>(y) * args_.share_stride + x);
      variance *= share * share;
    }
    return static_cast<float>(pixels()) * variance;
  }

  __device__ __forceinline__ void filter(int column, int row) const {
    const Place place = place_of(column, row);
    const unsigned existing = __ballot_sync(kFullWarp, place.exists);
    if (existing == 0) return;
    const int count = __popc(existing);
    float exists[4];
#pragma unroll
    for (int a = 0; a < 4; ++a) exists[a] = existing >> (g_ + 8 * a) & 1 ? 1.0f : 0.0f;
    const auto row_number = [&](int a) { return g_ + 8 * a; };
    const Patches<4> pilot = patches_of<4>(place, region_.pilot, args_.pilot, args_.pilot_rect,
                                           args_.pilot_stride, row_number);
    const float near = at_offset(pilot.pixels, __shfl_sync(kFullWarp, pilot.at[0], 0));
    const float mean = mean_of(patches_of<4>(place, region_.noisy, args_.noisy, args_.noisy_rect,
                                             args_.noisy_stride, row_number),
                               near, exists, count);
    const float nv = noise_of(column, row);
    const SymmetricMatrix matrix =
        make_filter(pilot, mean_of(pilot, near, exists, count), exists, nv);
    float weights[4];
    weights[0] = weight_of(matrix.first, matrix.upper, 0, nv, count);
    weights[1] = weight_of(matrix.first, matrix.upper, 1, nv, count);
    weights[2] = weight_of(matrix.second, matrix.lower, 0, nv, count);
    weights[3] = weight_of(matrix.second, matrix.lower, 1, nv, count);
    Row rows[4];
#pragma unroll
    for (int a = 0; a < 4; ++a) {
      weights[a] = rintf(weights[a] * kWeightSteps);
      const float w = weights[a] * (1 / kWeightSteps);
      const bool fine = w <= kSmallWeight;
      rows[a].steps = w * exists[a] * -nv * args_.steps * (fine ? 1.0f : 1 / kFiner);
      const int at = kHeld ? static_cast<int>(pilot.at[a])
                           : __shfl_sync(kFullWarp, region_offset(place), g_ + 8 * a);
      rows[a].sums = reinterpret_cast<char*>(fine ? region_.fine : region_.coarse) + at;
    }
    add_weights(place, weights);
    const Patches<8> noisy =
        patches_of<8>(place, region_.noisy, args_.noisy, args_.noisy_rect, args_.noisy_stride,
                      [&](int a) { return a / 2 * 8 + 2 * t_ + a % 2; });
    add_removed(matrix, noisy, mean, rows, place);
  }

  // Each lane that of its own patch.
  __device__ __forceinline__ void add_weights(const Place& place, const float (&weights)[4]) const {
    float own = 0;  // lane i has those of patches i / 4 + 8 a
#pragma unroll
    for (int a = 0; a < 4; ++a) {
      if (t_ == a) own = weights[a];
    }
    own = __shfl_sync(kFullWarp, own, lane_ % 8 * 4 + lane_ / 8);
    const int x = place.x - args_.map.x, y = place.y - args_.map.y;
    if (!place.exists || x < 0 || x >= args_.map.width || y < 0 || y >= args_.map.height) return;
    atomicAdd(args_.sums.weight + static_cast<size_t>(y) * args_.map.width + x,
              __float2uint_rn(own));
  }

  // `matrix` times the noisy pixels, eight at a time.
  __device__ __forceinline__ void add_removed(const SymmetricMatrix& matrix,
                                              const Patches<8>& noisy, float mean,
                                              const Row (&rows)[4], const Place& place) const {
    const SquareFactors upper[2] = {SquareFactors(matrix.first), SquareFactors(matrix.upper)};
    const SquareFactors lower[2] = {SquareFactors(matrix.lower), SquareFactors(matrix.second)};
#pragma unroll(kPatch > 0 ? kMaxPatch : 1)
    for (int i = 0; i < filled_pixels(patch()); i += 8) {
      const PatchPixel own = region_.pixels[i + g_];
      Tile kept[2]{};
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        const RowFactors values{
            {Factor(pixel(noisy, 2 * s, own) - mean), Factor(pixel(noisy, 2 * s + 1, own) - mean)}};
        const TileFactors* const rows_of[2] = {&upper[s / 2].half[s % 2],
                                               &lower[s / 2].half[s % 2]};
        multiply_add(kept, rows_of, values);
      }
      add(kept, i, rows, place);
    }
  }

  // Pixels i + 2 t and the next of the rows.
  __device__ __forceinline__ void add(const Tile (&kept)[2], int i, const Row (&rows)[4],
                                      const Place& place) const {
    const int first = i + 2 * t_;
    float most = 0;
#pragma unroll
    for (int a = 0; a < 4; ++a) {
      const float(&v)[4] = kept[a / 2].v;
      most =
          fmaxf(most, fmaxf(fabsf(v[a % 2 * 2]), fabsf(v[a % 2 * 2 + 1])) * fabsf(rows[a].steps));
    }
    if (__any_sync(kFullWarp, !(most <= kLargestR))) return add_large(kept, first, rows, place);
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (may_fill(i) && fills(first + k)) continue;
      const PatchPixel at = region_.pixels[first + k];
#pragma unroll
      for (int a = 0; a < 4; ++a) {
        const float rounded = fmaf(rows[a].steps * at.window, kept[a / 2].v[a % 2 * 2 + k], kRound);
        atomicAdd(reinterpret_cast<int*>(rows[a].sums + at.at),
                  __float_as_int(rounded) - __float_as_int(kRound));
      }
    }
  }

  // A hot pixel's: straight to the sums of pixels, which are wider.
  __device__ void add_large(const Tile (&kept)[2], int first, const Row (&rows)[4],
                            const Place& place) const {
#pragma unroll
    for (int a = 0; a < 4; ++a) {
      const int x0 = __shfl_sync(kFullWarp, place.x, g_ + 8 * a) - args_.out.x;
      const int y0 = __shfl_sync(kFullWarp, place.y, g_ + 8 * a) - args_.out.y;
      const bool fine = rows[a].sums >= reinterpret_cast<char*>(region_.fine);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const PatchPixel at = region_.pixels[first + k];
        const int x = x0 + at.x, y = y0 + at.y;
        if (x < 0 || x >= args_.out.width || y < 0 || y >= args_.out.height) continue;
        const float value = rows[a].steps * at.window * kept[a / 2].v[a % 2 * 2 + k];
        const float bounded = fminf(fmaxf(value, -kLargestSteps), kLargestSteps);
        const long long steps = __float2ll_rn(bounded) * (fine ? 1 : static_cast<int>(kFiner));
        atomicAdd(args_.sums.removed + static_cast<size_t>(y) * args_.out.width + x,
                  static_cast<unsigned long long>(steps));
      }
    }
  }

  const RidgeArgs& args_;
  const Region& region_;
  const int lane_, g_, t_;
  const int column0_, row0_, x0_, y0_;
};

template <bool kHeld, int kPatch>
__global__ void __launch_bounds__(kWarps * 32, 2)
    filter_ridge(const __grid_constant__ RidgeArgs args) {
  extern __shared__ int memory[];
  const int pixels = args.stride * args.height;
  float* const planes = reinterpret_cast<float*>(memory + 2 * pixels);
  const Region region{memory, memory + pixels, planes, planes + pixels,
                      reinterpret_cast<PatchPixel*>(planes + (kHeld ? 2 : 0) * pixels)};
  const RidgeCell<kHeld, kPatch> cell(args, region);
  cell.fill();
  __syncthreads();
  cell.run();
  __syncthreads();
  cell.add_region();
}

using Kernel = void (*)(RidgeArgs);

Kernel kernel_for(int patch, bool held) {
  if (!held) return filter_ridge<false, 0>;
  return patch == 5   ? filter_ridge<true, 5>
         : patch == 6 ? filter_ridge<true, 6>
         : patch == 7 ? filter_ridge<true, 7>
                      : filter_ridge<true, 0>;
}

size_t shared_bytes(const RidgeArgs& args, bool held) {
  return sizeof(PatchPixel) * filled_pixels(args.stage.patch) +
         (held ? 4 : 2) * sizeof(int) * args.stride * args.height;
}

// Sets a cell of that many references; returns the blocks of it that fit on a multiprocessor.
int try_cell(const StageJob& job, RidgeArgs& args, int columns, int rows, bool held) {
  constexpr int kBanks = 32;
  const Bm3dStage& stage = *job.stage;
  const int least = 2 * stage.radius + stage.patch;
  args.cell_columns = columns;
  args.cell_rows = rows;
  args.width = (columns - 1) * stage.step + least;
  args.height = (rows - 1) * stage.step + least;
  // A patch's rows lie in banks beside each other.
  args.stride = (args.width - stage.patch + kBanks - 1) / kBanks * kBanks + stage.patch;
  const size_t bytes = shared_bytes(args, held);
  return bytes <= job.limits.shared_bytes ? job.blocks_that_fit(bytes) : 0;
}

// The largest cell of which two blocks fit on a multiprocessor, if possible with as many references
// in a row as a block has warps, so that none waits for others; but no small cell for that. Without
// its pixels where not even a single reference's fit. Returns whether they are held.
bool set_cell(const StageJob& job, RidgeArgs& args) {
  constexpr int kEnoughBlocks = 2, kFewestRows = 4, kSmallestCell = 4;
  for (int rows = kLargestCell; rows >= kFewestRows; --rows) {
    if (try_cell(job, args, kWarps, rows, true) >= kEnoughBlocks) return true;
  }
  for (const bool held : {true, false}) {
    for (int side = kLargestCell; side > 0; --side) {
      const int enough = side > kSmallestCell ? kEnoughBlocks : 1;
      if (try_cell(job, args, side, side, held) >= enough) return held;
    }
  }
  too_little_shared_memory();
}

RidgeArgs make_args(const StageJob& job, int c) {
  const Bm3dStage& stage = *job.stage;
  RidgeArgs args{};
  static_cast<PilotedArgs&>(args) = piloted_args(job, c);
  if (job.share.data != nullptr) args.share = job.share.plane(c);
  args.share_rect = job.share.rect;
  args.share_stride = job.share.stride;
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
  args.first_column = grid.column / args.cell_columns;
  const int columns = (grid.column + grid.columns - 1) / args.cell_columns - args.first_column + 1;
  const int first_row = grid.row / args.cell_rows;
  const int rows = (grid.row + grid.rows - 1) / args.cell_rows - first_row + 1;
  // The work of a group grows with its patches' pixels.
  const int size = std::max(1, stage.patch * stage.patch / 32);
  const int cells = kReferencesPerMultiprocessor * job.limits.multiprocessors / size /
                    (args.cell_columns * args.cell_rows);
  const int at_once = std::clamp(cells / columns, 1, kMostGridRows);
  launch_in_bands(*job.method, {rows, at_once, progress}, [&](const Band& band) {
    args.first_row = first_row + band.first;
    launch("BM3D ridge filter", kernel_for(stage.patch, held),
           {dim3(columns, band.count), kWarps * 32, shared_bytes(args, held), job.method->stream},
           args);
  });
}

}  // namespace grainless::cuda
