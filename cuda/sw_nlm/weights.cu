// SPDX-License-Identifier: MIT
// Which pairs of patches Shapiro-Wilk NLM accepts, and their weights. A block weighs one
// displacement of a tile of pixels; the differences of the tile and its halo are in shared memory,
// two rows of pixels in one word (sort.cuh): the word at (row r, column c) holds r in its
// low half and r + kRows in its high half. Differences are stored with kBias added, so that halves
// are never negative.
#include "args.cuh"
#include "cuda/runtime/launch.h"
#include "sort.cuh"

namespace grainless::cuda {
namespace {

constexpr int kColumns = 32;
constexpr int kBias = kSwDifference + 1;

__device__ __forceinline__ int difference(int a, int b) {
  return min(max(a - b, -kSwDifference), kSwDifference);
}

struct Shape {
  int patch, samples, wide, tall;  // wide x tall: words of the tile

  __host__ __device__ Shape(int patch, int rows)
      : patch(patch), samples(patch * patch), wide(kColumns + patch - 1), tall(rows + patch - 1) {}
  __host__ __device__ int words() const { return wide * tall; }
};

// Where the block's tile lies: its first pair's pixel, in the padded planes.
struct Tile {
  int dx, slot, column, row;  // column and row of the weights
  size_t corner;              // of the first patch
  int shift;

  __device__ Tile(const SwNlmArgs& a, int rows)
      : dx(a.first_dx + static_cast<int>(blockIdx.z)),
        slot(blockIdx.z),
        column(blockIdx.x * kColumns),
        row(a.first_row + static_cast<int>(blockIdx.y) * 2 * rows),
        corner(static_cast<size_t>(row + a.plan.radius - a.dy) * a.pitch + column + a.plan.radius +
               min(-dx, 0)),
        shift(a.dy * a.pitch + dx) {}
};

// Tiles may reach beyond the padded planes, where no result depends on what is read.
__device__ __forceinline__ int difference_at(const SwNlmArgs& a, const Tile& tile, int c, int x,
                                             int y) {
  const size_t last = a.plane - 1;
  const size_t at = tile.corner + static_cast<size_t>(y) * a.pitch + x;
  const int16_t* plane = a.match + c * a.plane;
  return difference(plane[min(at, last)], plane[min(at + tile.shift, last)]);
}

__device__ void load_tile(const SwNlmArgs& a, const Tile& tile, const Shape& shape, int rows,
                          uint32_t* words) {
  const int threads = blockDim.x * blockDim.y;
  for (int i = threadIdx.y * kColumns + threadIdx.x; i < shape.words(); i += threads) {
    const int x = i % shape.wide, y = i / shape.wide;
    const int low = difference_at(a, tile, 0, x, y) + kBias;
    const int high = difference_at(a, tile, 0, x, y + rows) + kBias;
    words[i] = static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
  }
}

// Squares of both chroma planes, a word a pixel, of all 2 * rows + patch - 1 rows.
__device__ void load_chroma(const SwNlmArgs& a, const Tile& tile, const Shape& shape, int rows,
                            uint32_t* squares) {
  const int threads = blockDim.x * blockDim.y;
  const int count = shape.wide * (shape.tall + rows);
  for (int i = threadIdx.y * kColumns + threadIdx.x; i < count; i += threads) {
    const int x = i % shape.wide, y = i / shape.wide;
    const int u = difference_at(a, tile, 1, x, y), v = difference_at(a, tile, 2, x, y);
    squares[i] = u * u + v * v;
  }
}

// n S2 - S1^2, 0 where a gate rejects; from the sums of biased samples. Sums are exact modulo 2^32,
// and exact where S2 is within its limit.
__device__ __forceinline__ int gate(const SwNlmGate& gate, int samples, uint32_t biased,
                                    uint32_t biased_squares) {
  const int s1 = static_cast<int>(biased) - samples * kBias;
  const uint32_t s2 = biased_squares - 2u * kBias * biased + 1u * samples * kBias * kBias;
  if (s2 > static_cast<uint32_t>(gate.most_square)) return 0;
  const int mean = min(abs(s1), kSwDifference);
  const int square = static_cast<int>(s2), spread = samples * square - mean * mean;
  const bool pass = mean * mean < square && spread > gate.least_spread && spread < gate.most_spread;
  return pass ? spread : 0;
}

__device__ __forceinline__ bool chroma_passes(const SwNlmArgs& a, const Shape& shape,
                                              const uint32_t* squares, int y) {
  uint32_t sum = 0;
  for (int ky = 0; ky < shape.patch; ++ky) {
    for (int kx = 0; kx < shape.patch; ++kx) {
      sum += squares[(y + ky) * shape.wide + threadIdx.x + kx];
    }
  }
  return sum <= static_cast<uint32_t>(a.gate.most_chroma);
}

// Three operations, each rounded to nearest, as the CPU's.
__device__ __forceinline__ float weight(const SwNlmArgs& a, int order, int spread) {
  if (spread == 0) return 0.0f;
  const float b = __int2float_rn(order);
  const float w = __fdiv_rn(__fmul_rn(__fmul_rn(b, b), a.plan.norm), __int2float_rn(spread));
  return w >= a.plan.least_w ? fminf(w, 1.0f) : 0.0f;
}

struct TwoSums {
  uint32_t low = 0, high = 0;  // of the halves
  __device__ __forceinline__ void add(uint32_t factor, uint32_t word) {
    low += factor * (word & 0xffffu);
    high += factor * (word >> 16);
  }
  __device__ __forceinline__ void add_squares(uint32_t word) {
    low += (word & 0xffffu) * (word & 0xffffu);
    high += (word >> 16) * (word >> 16);
  }
};

// The gates of the thread's two pairs: rows y and y + rows of the tile.
__device__ __forceinline__ int2 gates(const SwNlmArgs& a, const Shape& shape, int rows,
                                      const TwoSums& sums, const TwoSums& squares,
                                      const uint32_t* chroma) {
  int2 spread = make_int2(gate(a.gate, shape.samples, sums.low, squares.low),
                          gate(a.gate, shape.samples, sums.high, squares.high));
  if (a.channels == 3) {
    const int y = threadIdx.y;
    if (spread.x != 0 && !chroma_passes(a, shape, chroma, y)) spread.x = 0;
    if (spread.y != 0 && !chroma_passes(a, shape, chroma, y + rows)) spread.y = 0;
  }
  return spread;
}

__device__ __forceinline__ void store(const SwNlmArgs& a, const Tile& tile, int rows, float low,
                                      float high) {
  const int column = tile.column + threadIdx.x, row = tile.row + threadIdx.y;
  if (column >= a.weight_pitch) return;
  float* to =
      a.weights + tile.slot * a.weight_plane + static_cast<size_t>(row) * a.weight_pitch + column;
  if (row < a.last_row) *to = low;
  if (row + rows < a.last_row) to[static_cast<size_t>(rows) * a.weight_pitch] = high;
}

constexpr int kRegisterRows = 8;

template <int kPatch>
__global__ void __launch_bounds__(kColumns* kRegisterRows) register_kernel(const SwNlmArgs a) {
  constexpr int kSamples = kPatch * kPatch;
  extern __shared__ uint32_t shared[];
  const Shape shape(kPatch, kRegisterRows);
  const Tile tile(a, kRegisterRows);
  uint32_t* chroma = shared + shape.words();
  load_tile(a, tile, shape, kRegisterRows, shared);
  if (a.channels == 3) load_chroma(a, tile, shape, kRegisterRows, chroma);
  __syncthreads();
  uint32_t samples[kSamples];
  TwoSums sums, squares;
  const uint32_t* corner = shared + threadIdx.y * shape.wide + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kSamples; ++k) {
    samples[k] = corner[k / kPatch * (kColumns + kPatch - 1) + k % kPatch];
    sums.add(1, samples[k]);
    squares.add_squares(samples[k]);
  }
  const int2 spread = gates(a, shape, kRegisterRows, sums, squares, chroma);
  TwoSums order;
  if (__any_sync(~0u, (spread.x | spread.y) != 0)) {
    sort_registers(samples);
#pragma unroll
    for (int i = 0; i < kSamples / 2; ++i) {
      order.add(a.coefficient[i], samples[kSamples - 1 - i] - samples[i]);
    }
  }
  store(a, tile, kRegisterRows, weight(a, static_cast<int>(order.low), spread.x),
        weight(a, static_cast<int>(order.high), spread.y));
}

constexpr int kSharedRows = 1;

// Any patch size: a thread's samples are a column of shared memory.
__global__ void __launch_bounds__(kColumns* kSharedRows) shared_kernel(const SwNlmArgs a) {
  extern __shared__ uint32_t shared[];
  const Shape shape(a.plan.patch, kSharedRows);
  const Tile tile(a, kSharedRows);
  uint32_t* chroma = shared + shape.words();
  uint32_t* samples = chroma + (a.channels == 3 ? shape.wide * (shape.tall + kSharedRows) : 0);
  load_tile(a, tile, shape, kSharedRows, shared);
  if (a.channels == 3) load_chroma(a, tile, shape, kSharedRows, chroma);
  __syncthreads();
  const int thread = threadIdx.y * kColumns + threadIdx.x, threads = kColumns * kSharedRows;
  uint32_t* own = samples + thread;
  TwoSums sums, squares;
  for (int ky = 0; ky < a.plan.patch; ++ky) {
    for (int kx = 0; kx < a.plan.patch; ++kx) {
      const uint32_t word = shared[(threadIdx.y + ky) * shape.wide + threadIdx.x + kx];
      own[(ky * a.plan.patch + kx) * threads] = word;
      sums.add(1, word);
      squares.add_squares(word);
    }
  }
  const int2 spread = gates(a, shape, kSharedRows, sums, squares, chroma);
  TwoSums order;
  if (__any_sync(~0u, (spread.x | spread.y) != 0)) {
    merge_exchange(shape.samples, [own](int i, int j) {
      exchange(own[i * kColumns * kSharedRows], own[j * kColumns * kSharedRows]);
    });
    for (int i = 0; i < shape.samples / 2; ++i) {
      order.add(a.coefficient[i], own[(shape.samples - 1 - i) * threads] - own[i * threads]);
    }
  }
  store(a, tile, kSharedRows, weight(a, static_cast<int>(order.low), spread.x),
        weight(a, static_cast<int>(order.high), spread.y));
}

using Kernel = void (*)(SwNlmArgs);

Kernel register_kernel_for(int patch) {
  return patch == 3   ? register_kernel<3>
         : patch == 5 ? register_kernel<5>
         : patch == 7 ? register_kernel<7>
         : patch == 9 ? register_kernel<9>
                      : nullptr;
}

}  // namespace

bool sw_nlm_sorts_in_registers(int patch) {
  return register_kernel_for(patch) != nullptr;
}

void sw_nlm_weigh(const SwNlmArgs& a, cudaStream_t stream) {
  const bool registers = sw_nlm_sorts_in_registers(a.plan.patch);
  const int rows = registers ? kRegisterRows : kSharedRows;
  const Kernel kernel = registers ? register_kernel_for(a.plan.patch) : shared_kernel;
  const Shape shape(a.plan.patch, rows);
  size_t words = shape.words();
  if (a.channels == 3) words += shape.wide * (shape.tall + rows);
  if (!registers) words += shape.samples * kColumns * rows;
  const dim3 grid((a.weight_pitch + kColumns - 1) / kColumns,
                  (a.last_row - a.first_row + 2 * rows - 1) / (2 * rows), a.slots);
  launch("Shapiro-Wilk weights", kernel,
         {grid, dim3(kColumns, rows), words * sizeof(uint32_t), stream}, a);
}

}  // namespace grainless::cuda
