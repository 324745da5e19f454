// SPDX-License-Identifier: MIT
// Matching as a product of integer matrices. |P - Q|^2 = |P|^2 + |Q|^2 - 2 P.Q, where the inner
// products of 16 references with 8 neighbouring candidates are one 16 x 64 by 64 x 8 product. Match
// values have up to 15 bits: q = 128 h + l, and 2 P.Q = 2^14 hh' + 2^7 (hl' + lh') + ll' in 8-bit
// products with 32-bit sums, exact. (The references' values are doubled before they are split.)
//
// A warp takes 4 x 4 references and runs through the union of their windows in columns of 8
// candidates, from top to bottom: of the 8 patch rows of a candidate 7 are already in registers. The
// few candidates under a reference's current limit go to a list in shared memory; a full list is
// merged into the reference's best 32, which lowers the limit.
#include <algorithm>

#include "bm3d_match.cuh"
#include "bm3d_select.cuh"
#include "check.h"

namespace grainless::cuda {
namespace {

constexpr int kTensorPatch = 8;
constexpr int kSide = 4;             // references a warp takes across and down
constexpr int kRefs = kSide * kSide;
constexpr int kList = 64;            // best 32 keys, then up to 32 new ones
constexpr int kFull = 32 - 8;        // new keys of one step of the warp: up to 8 a reference
constexpr int kBits = 7;             // of the low part of a match value
// |Q|^2 where no candidate stands: no limit admits it, and 2 P.Q - |Q|^2 does not overflow.
constexpr int kNowhere = (1 << 30) + (1 << 29) + (1 << 20);
constexpr int kNever = 0x7fffffff;

// How a block shares its tile: warps across and down, and the tile in pixels.
struct Shape {
  int across, down;
  int width, height;      // of candidates
  int tile_stride, tile_height, energy_stride;
  size_t bytes;
};

struct TensorArgs {
  MatchArgs match;
  Shape shape;
};

// 16 x 8 += 16 x 32 times 32 x 8, 8-bit.
__device__ __forceinline__ void multiply_add(int (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                                             uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+r"(sum[2 * half]), "+r"(sum[2 * half + 1])
        : "r"(a[half]), "r"(b0));
    asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+r"(sum[2 * half]), "+r"(sum[2 * half + 1])
        : "r"(a[half + 2]), "r"(b1));
  }
#endif
}

// High and low parts of four neighbouring match values.
__device__ __forceinline__ uint2 split(int q0, int q1, int q2, int q3) {
  const uint32_t even = __byte_perm(q0, q1, 0x5410), odd = __byte_perm(q2, q3, 0x5410);
  const uint32_t mask = 0x007f007fu;
  const uint32_t low = __byte_perm(even & mask, odd & mask, 0x6420);
  const uint32_t high = __byte_perm(even << 1, odd << 1, 0x7531);
  return {high, low};
}

// The tile: high and low parts of the pixels x..x+3 at x, 0 outside of the plane.
__device__ void load_tile(const TensorArgs& args, int x0, int y0, uint2* tile) {
  const Shape& shape = args.shape;
  const Rect& rect = args.match.rect;
  const int runs = shape.tile_stride / 4;
  for (int i = threadIdx.x; i < runs * shape.tile_height; i += blockDim.x) {
    const int x = i % runs * 4, y = i / runs;
    const int px = x0 + x - rect.x, py = y0 + y - rect.y;
    int q[7];
#pragma unroll
    for (int k = 0; k < 7; ++k) {
      const bool inside = px + k >= 0 && px + k < rect.width && py >= 0 && py < rect.height;
      q[k] = inside ? args.match.plane[static_cast<size_t>(py) * rect.width + px + k] : 0;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      tile[y * shape.tile_stride + x + k] = split(q[k], q[k + 1], q[k + 2], q[k + 3]);
    }
  }
}

__device__ __forceinline__ int squares(uint2 q, uint32_t mask) {
  const int high = q.x & mask, low = q.y & mask;
  return (__dp4a(high, high, 0) << 2 * kBits) + (__dp4a(high, low, 0) << (kBits + 1)) +
         __dp4a(low, low, 0);
}

// -|Q|^2 of every candidate, by sums along rows and then down the columns.
__device__ void fill_energies(const TensorArgs& args, int x0, int y0, const uint2* tile, int* rows,
                              int* energies) {
  const Shape& shape = args.shape;
  const int patch = args.match.patch;
  const uint32_t first = patch >= 4 ? ~0u : (1u << 8 * patch) - 1;
  const uint32_t second = patch >= 8 ? ~0u : patch > 4 ? (1u << 8 * (patch - 4)) - 1 : 0;
  for (int i = threadIdx.x; i < shape.width * shape.tile_height; i += blockDim.x) {
    const int x = i % shape.width, y = i / shape.width;
    const uint2* at = tile + y * shape.tile_stride + x;
    rows[y * shape.energy_stride + x] = squares(at[0], first) + squares(at[4], second);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < shape.width * shape.height; i += blockDim.x) {
    const int x = i % shape.width, y = i / shape.width;
    int sum = 0;
    for (int k = 0; k < patch; ++k) sum += rows[(y + k) * shape.energy_stride + x];
    const bool inside = x0 + x >= 0 && x0 + x <= args.match.grid.last_x && y0 + y >= 0 &&
                        y0 + y <= args.match.grid.last_y;
    energies[y * shape.energy_stride + x] = inside ? -sum : -kNowhere;
  }
}

// What a lane knows of its two references.
struct LaneReference {
  int x, y;       // position
  int energy;     // |P|^2
  bool exists;
};

// The patch rows 2k and 2k + 1 of one reference, doubled: the lane's four values, split.
__device__ uint2 load_reference(const MatchArgs& args, const LaneReference& reference, int k,
                                int part, int& energy) {
  const int row = 2 * k + part / 2, column = part % 2 * 4;
  int q[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const bool inside = reference.exists && row < args.patch && column + i < args.patch;
    q[i] = inside ? args.plane[static_cast<size_t>(reference.y + row - args.rect.y) *
                                   args.rect.width +
                               reference.x + column + i - args.rect.x]
                  : 0;
    energy += q[i] * q[i];
    q[i] *= 2;
  }
  return split(q[0], q[1], q[2], q[3]);
}

// The new keys of list `list` enter its best; returns the new limit.
__device__ int merge_list(uint32_t* list, int* count, int limit, const MatchArgs& args, int lane) {
  const uint32_t key = lane < *count ? list[32 + lane] : kNoKey;
  const uint32_t best = merged_smallest(list[lane], key, lane);
  list[lane] = best;
  __syncwarp();
  if (lane == 0) *count = 0;
  const uint32_t last = __shfl_sync(kFullWarp, best, args.group - 1);
  if (last != kNoKey) limit = min(limit, limit_above(last >> kKeyIndexBits, args.shift));
  return limit;
}

// One warp's matching.
class WarpMatcher {
 public:
  __device__ WarpMatcher(const TensorArgs& args, int column, int row, int x0, int y0,
                         const uint2* tile, const int* energies, uint32_t* lists, int* counts)
      : args_(args), match_(args.match), column_(column), row_(row), x0_(x0), y0_(y0),
        tile_(tile), energies_(energies), lists_(lists), counts_(counts),
        lane_(threadIdx.x % 32), group_(lane_ / 4), part_(lane_ % 4) {}

  __device__ void run() {
    load_references();
    const ReferenceGrid& grid = match_.grid;
    const int last_column = min(column_ + kSide, grid.columns) - 1;
    const int last_row = min(row_ + kSide, match_.row + match_.rows) - 1;
    const int left = (grid.x(grid.column + column_) - match_.radius - x0_) & ~1;
    const int right = grid.x(grid.column + last_column) + match_.radius - x0_;
    const int top = max(grid.y(grid.row + row_) - match_.radius, 0) - y0_;
    const int bottom = min(grid.y(grid.row + last_row) + match_.radius, grid.last_y) - y0_;
    const int tiles = (right - left) / 8 + 1;
    // From the middle outwards: near candidates are the likeliest, and lower the limits early.
    for (int i = 0; i < tiles; ++i) {
      const int tile = tiles / 2 + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
      run_column(left + 8 * (tile < 0 ? tile + tiles : tile), top, bottom);
    }
    __syncwarp();
    for (int i = 0; i < kRefs; ++i) store(i);
  }

 private:
  __device__ void load_references() {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const int number = group_ + 8 * s;
      const int column = column_ + number % kSide, row = row_ + number / kSide;
      LaneReference& reference = reference_[s];
      reference.exists = column < match_.grid.columns && row < match_.row + match_.rows;
      reference.x = match_.grid.x(match_.grid.column + column);
      reference.y = match_.grid.y(match_.grid.row + row);
      int energy = 0;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const uint2 q = load_reference(match_, reference, k, part_, energy);
        high_[k][s] = q.x;
        low_[k][s] = q.y;
      }
      energy += __shfl_xor_sync(kFullWarp, energy, 1);
      energy += __shfl_xor_sync(kFullWarp, energy, 2);
      reference.energy = energy;
      limit_[s] = match_.limit;
    }
    for (int i = lane_; i < kRefs * kList; i += 32) lists_[i] = i % kList == 0 ? 0 : kNoKey;
    if (lane_ < kRefs) counts_[lane_] = 0;
    __syncwarp();
    if (match_.group == 1) limit_[0] = limit_[1] = min(match_.limit, limit_above(0, match_.shift));
  }

  // A candidate in column `at + 2 * part_ + j` passes when 2 P.Q - |Q|^2 exceeds bound_[s][j].
  __device__ void set_bounds(int at) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int dx = x0_ + at + 2 * part_ + j - reference_[s].x;
        const bool reachable = reference_[s].exists && abs(dx) <= match_.radius;
        bound_[s][j] = reachable ? reference_[s].energy - limit_[s] : kNever;
      }
    }
  }

  __device__ __forceinline__ uint2 pair_of_rows(int at, int y) const {
    return tile_[(y + part_ / 2) * args_.shape.tile_stride + at + group_ + part_ % 2 * 4];
  }

  // The candidates of columns at..at+7 and rows top..bottom.
  __device__ void run_column(int at, int top, int bottom) {
    set_bounds(at);
    uint2 rows[8];  // rows y and y + 1 in rows[(y - top) % 8]
#pragma unroll
    for (int i = 0; i < 6; ++i) rows[i] = pair_of_rows(at, top + i);
    for (int first = top; first <= bottom; first += 8) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int y = first + i;
        if (y > bottom) break;
        rows[(i + 6) % 8] = pair_of_rows(at, y + 6);
        int value[4];
        products(rows, i, at, y, value);
        const bool passes = value[0] > bound_[0][0] || value[1] > bound_[0][1] ||
                            value[2] > bound_[1][0] || value[3] > bound_[1][1];
        if (__any_sync(kFullWarp, passes)) collect(value, at, y);
      }
    }
  }

  // value = 2 P.Q - |Q|^2 of references group_ and group_ + 8 with two candidates each.
  __device__ __forceinline__ void products(const uint2 (&rows)[8], int i, int at, int y,
                                           int (&value)[4]) const {
    const int2 energy = *reinterpret_cast<const int2*>(
        energies_ + y * args_.shape.energy_stride + at + 2 * part_);
    int high[4] = {}, middle[4] = {}, low[4] = {energy.x, energy.y, energy.x, energy.y};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Slots keep their rows while the patch moves down: the reference's rows turn instead.
      const int slot = i % 2 + 4 * half;
      const uint2 b0 = rows[slot], b1 = rows[slot + 2];
      const int k0 = (slot - i + 8) % 8 / 2, k1 = (slot + 2 - i + 8) % 8 / 2;
      const uint32_t ah[4] = {high_[k0][0], high_[k0][1], high_[k1][0], high_[k1][1]};
      const uint32_t al[4] = {low_[k0][0], low_[k0][1], low_[k1][0], low_[k1][1]};
      multiply_add(high, ah, b0.x, b1.x);
      multiply_add(middle, ah, b0.y, b1.y);
      multiply_add(low, al, b0.y, b1.y);
      multiply_add(middle, al, b0.x, b1.x);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) value[k] = (high[k] << 2 * kBits) + (middle[k] << kBits) + low[k];
  }

  __device__ uint32_t key_of(int s, int value, int dx, int dy) const {
    const uint32_t distance = static_cast<uint32_t>(reference_[s].energy - value) >> match_.shift;
    const uint32_t index = 1 + (dy + match_.radius) * (2 * match_.radius + 1) + dx + match_.radius;
    return min(distance, kMaxKeyDistance) << kKeyIndexBits | index;
  }

  __device__ void collect(const int (&value)[4], int at, int y) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const int dy = y0_ + y - reference_[s].y;
      const int dx = x0_ + at + 2 * part_ - reference_[s].x;
      bool takes[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        takes[j] = value[2 * s + j] > bound_[s][j] && abs(dy) <= match_.radius &&
                   !(dy == 0 && dx + j == 0);
      }
      if (takes[0] || takes[1]) {
        const int number = group_ + 8 * s;
        int to = number * kList + 32 + atomicAdd(&counts_[number], takes[0] + takes[1]);
        if (takes[0]) lists_[to++] = key_of(s, value[2 * s], dx, dy);
        if (takes[1]) lists_[to] = key_of(s, value[2 * s + 1], dx + 1, dy);
      }
    }
    __syncwarp();
    unsigned full = __ballot_sync(kFullWarp, lane_ < kRefs && counts_[lane_ % kRefs] > kFull);
    if (full == 0) return;
    do {
      merge(__ffs(full) - 1);
      full &= full - 1;
    } while (full != 0);
    set_bounds(at);
  }

  __device__ void merge(int number) {
    const int owner = 4 * (number % 8);
    const int before = __shfl_sync(kFullWarp, number < 8 ? limit_[0] : limit_[1], owner);
    const int limit = merge_list(lists_ + number * kList, counts_ + number, before, match_, lane_);
    if (number == group_) limit_[0] = limit;
    if (number == group_ + 8) limit_[1] = limit;
    __syncwarp();
  }

  __device__ void store(int number) {
    const int column = column_ + number % kSide, row = row_ + number / kSide;
    if (column >= match_.grid.columns || row >= match_.row + match_.rows) return;
    merge(number);
    store_group(match_.groups +
                    (static_cast<size_t>(row) * match_.grid.columns + column) * match_.group,
                lists_[number * kList + lane_], match_.group, match_.radius, lane_);
  }

  const TensorArgs& args_;
  const MatchArgs& match_;
  const int column_, row_;  // of the first reference, in the grid
  const int x0_, y0_;       // of the tile
  const uint2* tile_;
  const int* energies_;
  uint32_t* lists_;
  int* counts_;
  const int lane_, group_, part_;
  LaneReference reference_[2];  // numbers group_ and group_ + 8
  uint32_t high_[4][2], low_[4][2];  // row pair, reference
  int limit_[2], bound_[2][2];
};

__global__ void __launch_bounds__(256, 2) match_blocks(const __grid_constant__ TensorArgs args) {
  extern __shared__ uint4 shared[];
  const Shape& shape = args.shape;
  const MatchArgs& match = args.match;
  const int warps = shape.across * shape.down, warp = threadIdx.x / 32;
  uint2* tile = reinterpret_cast<uint2*>(shared);
  int* energies = reinterpret_cast<int*>(tile + shape.tile_stride * shape.tile_height);
  uint32_t* lists =
      reinterpret_cast<uint32_t*>(energies + shape.energy_stride * shape.height);
  const int column = blockIdx.x * kSide * shape.across;
  const int row = match.row + blockIdx.y * kSide * shape.down;
  const int x0 = match.grid.x(match.grid.column + column) - match.radius;
  const int y0 = match.grid.y(match.grid.row + row) - match.radius;
  load_tile(args, x0, y0, tile);
  __syncthreads();
  fill_energies(args, x0, y0, tile, reinterpret_cast<int*>(lists), energies);
  __syncthreads();
  const int warp_column = column + warp % shape.across * kSide;
  const int warp_row = row + warp / shape.across * kSide;
  if (warp_column >= match.grid.columns || warp_row >= match.row + match.rows) return;
  int* counts = reinterpret_cast<int*>(lists + warps * kRefs * kList) + warp * kRefs;
  WarpMatcher(args, warp_column, warp_row, x0, y0, tile, energies,
              lists + warp * kRefs * kList, counts)
      .run();
}

Shape shape_of(const MatchArgs& args, int across, int down) {
  Shape shape{};
  shape.across = across;
  shape.down = down;
  const auto span = [&](int warps) {
    return (kSide * warps - 1) * args.grid.step + 2 * args.radius + 1;
  };
  // A warp's columns start at an even pixel and come in eights.
  shape.width = span(across) + 1 + 7;
  shape.height = span(down);
  shape.energy_stride = (shape.width + 1) / 2 * 2;
  // Two rows of 8-byte words that are read at once fall into different halves of the banks.
  shape.tile_stride = (shape.width + 7 + 15 - 8) / 16 * 16 + 8;
  shape.tile_height = shape.height + kTensorPatch - 1;
  const size_t tile = sizeof(uint2) * shape.tile_stride * shape.tile_height;
  const size_t energies = sizeof(int) * shape.energy_stride * shape.height;
  const size_t rows = sizeof(int) * shape.energy_stride * shape.tile_height;
  const size_t lists = sizeof(int) * across * down * kRefs * (kList + 1);
  shape.bytes = tile + (energies + 15) / 16 * 16 + std::max(rows, lists);
  return shape;
}

}  // namespace

bool match_tensor(const StageJob& job, const MatchArgs& args) {
  constexpr int kShapes[][2] = {{4, 2}, {2, 2}, {2, 1}, {1, 1}};
  for (const auto& [across, down] : kShapes) {
    const Shape shape = shape_of(args, across, down);
    // Two blocks a multiprocessor, as long as there is a choice.
    const size_t available = across * down > 1 ? job.shared_bytes / 2 - 1024 : job.shared_bytes;
    if (shape.bytes > available) continue;
    allow_shared(match_blocks, shape.bytes);
    const int wide = kSide * across, high = kSide * down;
    const dim3 blocks((args.grid.columns + wide - 1) / wide, (args.rows + high - 1) / high);
    const TensorArgs tensor{args, shape};
    match_blocks<<<blocks, 32 * across * down, shape.bytes, job.method->stream>>>(tensor);
    check_launch("BM3D matching on matrix units");
    return true;
  }
  return false;
}

}  // namespace grainless::cuda
