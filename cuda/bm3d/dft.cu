// SPDX-License-Identifier: MIT
// The first stage's filter in the Fourier basis (Honzatko 2017), in batches of references: their
// patches are gathered, transformed by cuFFT, filtered along the group, transformed back and added.
// The DFT along the group is its definition, with patches i and N - i and frequencies m and N - m
// taken together: engine/cpu/bm3d/dft.cpp has the equations.
//
// A batch is a number of cells of references, whose grid is fixed to the image. Sums are integers
// (engine/boundary/bm3d_math.h): a cell's in shared memory, then the pixels'. cuFFT always gets the
// same batch, so that its kernels, and with them the bits, do not depend on the tile.
//
// Of 8.5 ms for 2.25 megapixels on an H200, matching takes 1.2, gathering 1.0, cuFFT 3.7, the
// groups 0.8 and adding most of the rest. A batch of 8 MiB takes twice as long as one of 64, larger
// ones gain little.
#include <algorithm>

#include "aggregate.cuh"
#include "cuda/runtime/check.h"
#include "cuda/runtime/fft.h"
#include "cuda/runtime/sizes.h"
#include "dft.cuh"
#include "engine/boundary/bm3d_math.h"

namespace grainless::cuda {
namespace {

constexpr size_t kBatchBytes = size_t{64} << 20;  // of spectra
constexpr int kLowBits = 15;  // R is summed in two parts, each of them in 32 bits
constexpr int kGatherThreads = 128, kShrinkThreads = 160, kAddThreads = 512;
constexpr int kLargestCell = 8;  // references a side
static_assert(kLargestCell * kLargestCell <= kCellReferences);

// cos(2 pi k / 32).
__constant__ float kCosine[32] = {
    1.0f,          0.980785280f,  0.923879533f,  0.831469612f,  0.707106781f,  0.555570233f,
    0.382683432f,  0.195090322f,  0.0f,          -0.195090322f, -0.382683432f, -0.555570233f,
    -0.707106781f, -0.831469612f, -0.923879533f, -0.980785280f, -1.0f,         -0.980785280f,
    -0.923879533f, -0.831469612f, -0.707106781f, -0.555570233f, -0.382683432f, -0.195090322f,
    0.0f,          0.195090322f,  0.382683432f,  0.555570233f,  0.707106781f,  0.831469612f,
    0.923879533f,  0.980785280f};

struct DftArgs {
  const float* noisy;  // of one channel, at the rectangle's first pixel
  Rect rect;
  int stride;
  ReferenceGrid grid;
  const uint16_t* groups;
  FirstSums sums;
  float* spectra;  // of each reference of the batch, `group` patches
  int* retained;   // coefficients of each reference
  StagePart stage;
  int columns;                  // of a patch's spectrum
  int cell;                     // references a side
  int cells_across;             // of the tile
  int first_column, first_row;  // of the tile, in cells of the image's grid
  int first_cell, cells;        // of the batch, row by row
  int region_width;             // pixels a side that a cell's patches can reach
  float threshold;
  Bm3dSumScale scale;
  float kaiser[kMaxPatch];

  __device__ int patch_floats() const { return stage.patch * columns * 2; }
  __device__ float* reference(int index) const {
    return spectra + static_cast<size_t>(index) * stage.group * patch_floats();
  }
};

// A reference of the batch.
struct Reference {
  int count;  // of its patches; 0 outside of the tile
  int x, y;   // the search window's first pixel
  const uint16_t* entries;
};

__device__ Reference reference_at(const DftArgs& args, int index) {
  const int in_cell = args.cell * args.cell, cell = args.first_cell + index / in_cell;
  const int number = index % in_cell;
  const ReferenceGrid& grid = args.grid;
  const int column =
      (args.first_column + cell % args.cells_across) * args.cell + number % args.cell - grid.column;
  const int row =
      (args.first_row + cell / args.cells_across) * args.cell + number / args.cell - grid.row;
  Reference reference{};
  if (column < 0 || column >= grid.columns || row < 0 || row >= grid.rows) return reference;
  reference.entries =
      args.groups + (static_cast<size_t>(row) * grid.columns + column) * args.stage.group;
  int most = args.stage.group;  // the first power of two whose place is free ends the group
  for (reference.count = 1; reference.count < most; reference.count *= 2) {
    if (reference.entries[reference.count] == kNoPatch) break;
  }
  reference.x = grid.x(grid.column + column) - args.stage.radius;
  reference.y = grid.y(grid.row + row) - args.stage.radius;
  return reference;
}

__global__ void __launch_bounds__(kGatherThreads) gather(const __grid_constant__ DftArgs args) {
  const Reference reference = reference_at(args, blockIdx.x);
  if (reference.count == 0) return;
  const float* window = args.noisy +
                        static_cast<ptrdiff_t>(reference.y - args.rect.y) * args.stride +
                        reference.x - args.rect.x;
  const float base = window[args.stage.radius * args.stride + args.stage.radius];
  const int size = args.stage.patch * args.stage.patch;
  float* to = args.reference(blockIdx.x);
  for (int i = threadIdx.x; i < reference.count * size; i += kGatherThreads) {
    const int number = i / size, pixel = i % size, y = pixel / args.stage.patch,
              x = pixel % args.stage.patch;
    const int entry = reference.entries[number];
    to[number * args.patch_floats() + y * 2 * args.columns + x] =
        window[((entry >> 6) + y) * args.stride + (entry & 63) + x] - base;
  }
}

// One coefficient of the kCount patches of a group, `between` coefficients apart.
template <int kCount>
class GroupDft {
 public:
  // Returns how many of its frequencies remain. `bound`: squared threshold of unscaled
  // coefficients; `scale`: of what is left in their place. is_mean: the first one is kept.
  static __device__ __forceinline__ int run(float2* at, int between, float bound, float scale,
                                            bool is_mean) {
    float2 even[kHalf + 1], odd[kHalf + 1], even_out[kHalf + 1], odd_out[kHalf + 1];
#pragma unroll
    for (int i = 0; i <= kHalf; ++i) {
      const float2 a = at[i * between];
      const float2 b = mirrored(i) ? at[(kCount - i) * between] : float2{0.0f, 0.0f};
      even[i] = {a.x + b.x, a.y + b.y};
      odd[i] = {a.x - b.x, a.y - b.y};
      even_out[i] = odd_out[i] = {0.0f, 0.0f};
    }
    int retained = 0;
#pragma unroll
    for (int m = 0; m <= kHalf; ++m) {
      float2 p{0.0f, 0.0f}, q{0.0f, 0.0f};
#pragma unroll
      for (int i = 0; i <= kHalf; ++i) {
        add_scaled(cosine(m * i), even[i], p);
        if (mirrored(i) && mirrored(m)) add_scaled(sine(m * i), odd[i], q);
      }
      if (mirrored(m)) {
        float2 a{p.x + q.y, p.y - q.x}, b{p.x - q.y, p.y + q.x};
        retained += keep(a, bound) + keep(b, bound);
        p = {a.x + b.x, a.y + b.y};
        q = {b.y - a.y, a.x - b.x};  // i (a - b)
      } else if (m == 0 && is_mean) {
        p = {0.0f, 0.0f};
        ++retained;
      } else {
        retained += keep(p, bound);
      }
#pragma unroll
      for (int i = 0; i <= kHalf; ++i) {
        add_scaled(cosine(m * i), p, even_out[i]);
        if (mirrored(i) && mirrored(m)) add_scaled(sine(m * i), q, odd_out[i]);
      }
    }
#pragma unroll
    for (int i = 0; i <= kHalf; ++i) {
      const float2 p = even_out[i], q = odd_out[i];
      at[i * between] = {scale * (p.x + q.x), scale * (p.y + q.y)};
      if (mirrored(i)) at[(kCount - i) * between] = {scale * (p.x - q.x), scale * (p.y - q.y)};
    }
    return retained;
  }

 private:
  static constexpr int kHalf = kCount / 2;
  static __device__ constexpr bool mirrored(int i) { return i > 0 && 2 * i < kCount; }
  static __device__ __forceinline__ float cosine(int product) {
    return kCosine[product * (32 / kCount) & 31];
  }
  static __device__ __forceinline__ float sine(int product) {
    return kCosine[(product * (32 / kCount) - 8) & 31];
  }
  static __device__ __forceinline__ void add_scaled(float k, float2 v, float2& to) {
    to.x = fmaf(k, v.x, to.x);
    to.y = fmaf(k, v.y, to.y);
  }
  // Leaves what is removed.
  static __device__ __forceinline__ int keep(float2& v, float bound) {
    const bool removed = v.x * v.x + v.y * v.y <= bound;
    if (!removed) v = {0.0f, 0.0f};
    return !removed;
  }
};

template <int kLargest>
__device__ __forceinline__ int shrink_group(int count, float2* at, int between, float bound,
                                            float scale, bool is_mean) {
  switch (count) {
    case 1:
      return GroupDft<1>::run(at, between, bound, scale, is_mean);
    case 2:
      return GroupDft<2>::run(at, between, bound, scale, is_mean);
    case 4:
      return GroupDft<4>::run(at, between, bound, scale, is_mean);
    case 8:
      return GroupDft<8>::run(at, between, bound, scale, is_mean);
    case 16:
      return GroupDft<16>::run(at, between, bound, scale, is_mean);
    default:
      return GroupDft<kLargest>::run(at, between, bound, scale, is_mean);
  }
}

// A thread a coefficient, several references a block.
template <int kLargest>
__global__ void __launch_bounds__(kShrinkThreads)
    shrink(const __grid_constant__ DftArgs args, int references) {
  __shared__ int retained[kShrinkThreads];
  const int coefficients = args.stage.patch * args.columns,
            in_block = kShrinkThreads / coefficients;
  const int slot = threadIdx.x / coefficients, coefficient = threadIdx.x % coefficients;
  const int index = blockIdx.x * in_block + slot;
  retained[threadIdx.x] = 0;
  __syncthreads();
  const bool here = slot < in_block && index < references;
  const Reference reference = here ? reference_at(args, index) : Reference{};
  if (reference.count > 0) {
    const int kx = coefficient % args.columns;
    const int multiplicity = kx == 0 || 2 * kx == args.stage.patch ? 1 : 2;
    const float scale =
        1.0f / static_cast<float>(args.stage.patch * args.stage.patch * reference.count);
    const float bound = args.threshold * args.threshold *
                        static_cast<float>(args.stage.patch * args.stage.patch * reference.count);
    float2* at = reinterpret_cast<float2*>(args.reference(index)) + coefficient;
    const int kept =
        shrink_group<kLargest>(reference.count, at, coefficients, bound, scale, coefficient == 0);
    atomicAdd(&retained[slot], multiplicity * kept);
  }
  __syncthreads();
  if (here && coefficient == 0) args.retained[index] = retained[slot];
}

// A warp's patches of one reference join their cell's sums.
template <int kOwn>
__device__ __forceinline__ void add_reference(const DftArgs& args, int index,
                                              const Reference& reference, int* region, int pixels,
                                              int corner) {
  const int lane = threadIdx.x % 32, size = args.stage.patch * args.stage.patch;
  const PatchWeight weight =
      first_stage_weight(1.0f / static_cast<float>(args.retained[index]), args.scale);
  if (lane < reference.count) {
    const int entry = reference.entries[lane];
    args.sums.add_weight(reference.x + (entry & 63), reference.y + (entry >> 6), weight.steps);
  }
  int from[kOwn], to[kOwn];
  float factor[kOwn];
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    const int pixel = min(lane + 32 * k, size - 1), y = pixel / args.stage.patch,
              x = pixel % args.stage.patch;
    factor[k] = weight.factor * args.kaiser[x] * args.kaiser[y];
    from[k] = y * 2 * args.columns + x;
    to[k] = corner + y * args.region_width + x;
  }
  const float* patch = args.reference(index);
  for (int m = 0; m < reference.count; ++m, patch += args.patch_floats()) {
    const int entry = reference.entries[m];
    const int offset = (entry >> 6) * args.region_width + (entry & 63);
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      if (lane + 32 * k >= size) continue;
      const int removed = __float2int_rn(factor[k] * patch[from[k]]) * (1 << weight.shift);
      int* const at = region + to[k] + offset;
      atomicAdd(at, removed >> kLowBits);
      atomicAdd(at + pixels, removed & ((1 << kLowBits) - 1));
    }
  }
}

// A block a cell.
template <int kOwn>
__global__ void __launch_bounds__(kAddThreads) add(const __grid_constant__ DftArgs args) {
  extern __shared__ int region[];
  const int pixels = args.region_width * args.region_width, in_cell = args.cell * args.cell;
  const int cell = args.first_cell + blockIdx.x;
  const int x0 =
      args.grid.x((args.first_column + cell % args.cells_across) * args.cell) - args.stage.radius;
  const int y0 =
      args.grid.y((args.first_row + cell / args.cells_across) * args.cell) - args.stage.radius;
  for (int i = threadIdx.x; i < 2 * pixels; i += kAddThreads) region[i] = 0;
  __syncthreads();
  for (int number = threadIdx.x / 32; number < in_cell; number += kAddThreads / 32) {
    const int index = blockIdx.x * in_cell + number;
    const Reference reference = reference_at(args, index);
    if (reference.count == 0) continue;
    add_reference<kOwn>(args, index, reference, region, pixels,
                        (reference.y - y0) * args.region_width + reference.x - x0);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < pixels; i += kAddThreads) {
    args.sums.add_removed(x0 + i % args.region_width, y0 + i / args.region_width,
                          static_cast<long long>(region[i]) * (1 << kLowBits) + region[pixels + i]);
  }
}

using ShrinkKernel = void (*)(DftArgs, int);
using AddKernel = void (*)(DftArgs);

AddKernel add_kernel(int patch) {
  const int lanes = (patch * patch + 31) / 32;
  return lanes <= 2 ? add<2> : lanes <= 4 ? add<4> : add<8>;
}

size_t reference_bytes(const Bm3dStage& stage) {
  return sizeof(float2) * stage.group * stage.patch * (stage.patch / 2 + 1);
}

int batch_references(const Bm3dStage& stage) {
  return std::max<int>(kCellReferences, static_cast<int>(kBatchBytes / reference_bytes(stage)));
}

size_t spectra_bytes(const Bm3dStage& stage) {
  return aligned(batch_references(stage) * reference_bytes(stage));
}

// cuFFT 12 asks for none with any side up to 16; of versions not seen, some may want a copy.
size_t work_bytes(const Bm3dStage& stage) {
  return spectra_bytes(stage);
}

DftArgs make_args(const StageJob& job, int c) {
  const Bm3dStage& stage = *job.stage;
  DftArgs args{};
  args.noisy = job.noisy.plane(c);
  args.rect = job.noisy.rect;
  args.stride = job.noisy.stride;
  args.grid = job.grid;
  args.groups = job.groups;
  args.sums = first_sums(job);
  char* scratch = static_cast<char*>(job.dft_scratch);
  args.spectra = reinterpret_cast<float*>(scratch);
  args.retained = reinterpret_cast<int*>(scratch + spectra_bytes(stage) + work_bytes(stage));
  args.stage = part_of(stage);
  args.columns = stage.patch / 2 + 1;
  args.threshold = stage.shrink[c];
  args.scale = first_stage_sums(stage, c);
  std::copy_n(stage.kaiser, stage.patch, args.kaiser);
  return args;
}

// The largest cell whose sums fit. Returns their bytes.
size_t set_cell(const StageJob& job, DftArgs& args) {
  const Bm3dStage& stage = *job.stage;
  for (args.cell = kLargestCell; args.cell >= 1; --args.cell) {
    args.region_width = (args.cell - 1) * stage.step + 2 * stage.radius + stage.patch;
    const size_t bytes = 2 * sizeof(int) * args.region_width * args.region_width;
    const int enough = args.cell > kLargestCell / 2 ? 2 : 1;  // blocks a multiprocessor
    if (bytes <= job.limits.shared_bytes && job.blocks_that_fit(bytes) >= enough) return bytes;
  }
  too_little_shared_memory();
}

}  // namespace

size_t dft_scratch_bytes(const Bm3dStage& stage) {
  return spectra_bytes(stage) + work_bytes(stage) + aligned(sizeof(int) * batch_references(stage));
}

void filter_stage_dft(const StageJob& job, int c, const ProgressSpan& progress) {
  const Bm3dStage& stage = *job.stage;
  DftArgs args = make_args(job, c);
  const size_t shared = set_cell(job, args);
  const AddKernel add_cells = add_kernel(stage.patch);
  const ShrinkKernel shrink_groups = stage.group > 16 ? shrink<32> : shrink<16>;
  const FftPlans plans(stage.patch, batch_references(stage) * stage.group);
  const cudaStream_t stream = job.method->stream;
  plans.use(stream, static_cast<char*>(job.dft_scratch) + spectra_bytes(stage), work_bytes(stage));
  // cuFFT transforms the places without a patch, too.
  check(cudaMemsetAsync(args.spectra, 0, spectra_bytes(stage), stream), "clearing spectra");
  const ReferenceGrid& grid = job.grid;
  args.first_column = grid.column / args.cell;
  args.first_row = grid.row / args.cell;
  args.cells_across = (grid.column + grid.columns - 1) / args.cell - args.first_column + 1;
  const int cells =
      args.cells_across * ((grid.row + grid.rows - 1) / args.cell - args.first_row + 1);
  const int in_cell = args.cell * args.cell, batch = batch_references(stage) / in_cell;
  const int in_block = kShrinkThreads / (args.stage.patch * args.columns);
  launch_in_bands(*job.method, {cells, batch, progress}, [&](const Band& band) {
    args.first_cell = band.first;
    args.cells = band.count;
    const int references = args.cells * in_cell;
    launch("BM3D gathering", gather, {references, kGatherThreads, 0, stream}, args);
    plans.forward(args.spectra);
    launch("BM3D shrinking", shrink_groups,
           {(references + in_block - 1) / in_block, kShrinkThreads, 0, stream}, args, references);
    plans.inverse(args.spectra);
    launch("BM3D adding", add_cells, {args.cells, kAddThreads, shared, stream}, args);
  });
}

}  // namespace grainless::cuda
