// SPDX-License-Identifier: MIT
// Matching as a product of integer matrices. |P - Q|^2 = |P|^2 + |Q|^2 - 2 P.Q, where the inner
// products of 16 references with 8 neighbouring candidates are one 16 x 64 by 64 x 8 product. Match
// values have up to 15 bits: q = 128 h + l, and -2 P.Q = 2^14 hh' + 2^7 (hl' + lh') + ll' in 8-bit
// products with 32-bit sums, exact. (The references' values are times -2 before they are split.)
//
// A warp takes 4 x 4 references and runs through the union of their windows in columns of 8
// candidates, from top to bottom: of the 8 patch rows of a candidate 7 are already in registers. A
// lane sees 2 candidates of 2 references at a time; keys that may enter a group go to the lane's
// own queue in shared memory, without branches or atomics. Once a queue is nearly full, all are
// merged into the references' best keys, which lowers the limits.
#include <algorithm>

#include "cuda/runtime/check.h"
#include "match.cuh"
#include "match_tile.cuh"
#include "select.cuh"

namespace grainless::cuda {
namespace {

constexpr int kSide = 4;  // references a warp takes across and down
constexpr int kRefs = kSide * kSide;
constexpr int kBest = 32;               // keys kept a reference
constexpr int kQueueStep = 4 * 2 * 32;  // bytes from key to key of a queue
constexpr int kSpare = 4;               // two rows of candidates add as many keys to a queue

// Of a warp whose queues hold `queue` keys.
__host__ __device__ constexpr int warp_words(int queue) {
  return kRefs * kBest + queue * kQueueStep / 4;
}

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

// What a lane knows of one of its two references.
struct LaneReference {
  bool exists;
  int x, y;              // position
  int energy;            // |P|^2
  int limit;             // only sums of squares below it can enter the group,
  uint32_t last;         // and only keys below the group's last one
  uint32_t queue, next;  // shared memory addresses of the lane's queue, and of its next key
};

// The patch rows 2k and 2k + 1 of one reference, times -2: the lane's four values, split.
__device__ uint2 load_reference(const MatchArgs& args, const LaneReference& reference, int k,
                                int part, int& energy) {
  const int row = 2 * k + part / 2, column = part % 2 * 4;
  int q[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const bool inside = reference.exists && row < args.stage.patch && column + i < args.stage.patch;
    q[i] = inside
               ? args.plane[static_cast<size_t>(reference.y + row - args.rect.y) * args.rect.width +
                            reference.x + column + i - args.rect.x]
               : 0;
    energy += q[i] * q[i];
    q[i] *= -2;
  }
  return split(q[0], q[1], q[2], q[3]);
}

// An ordinary store, but at an address that no instruction has to compute.
__device__ __forceinline__ void store_shared(uint32_t address, uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value));
}

// A block's pixels in shared memory, from (x0, y0) on, and the energies of their patches.
struct BlockTile {
  int x0, y0;
  const uint2* pixels;
  const int* energies;
};

// One warp's matching.
class WarpMatcher {
 public:
  __device__ WarpMatcher(const TensorArgs& args, int column, int row, const BlockTile& tile,
                         uint32_t* words)
      : args_(args),
        match_(args.match),
        column_(column),
        row_(row),
        x0_(tile.x0),
        y0_(tile.y0),
        tile_(tile.pixels),
        energies_(tile.energies),
        best_(words),
        queues_(words + kRefs * kBest),
        lane_(threadIdx.x % 32),
        group_(lane_ / 4),
        part_(lane_ % 4),
        side_(2 * args.match.stage.radius + 1),
        full_((args.shape.queue - kSpare) * kQueueStep) {}

  __device__ __forceinline__ void run() {
    load_references();
    const ReferenceGrid& grid = match_.grid;
    const int last_column = min(column_ + kSide, grid.columns) - 1;
    const int last_row = min(row_ + kSide, match_.row + match_.rows) - 1;
    const int left = (grid.x(grid.column + column_) - match_.stage.radius - x0_) & ~1;
    const int right = grid.x(grid.column + last_column) + match_.stage.radius - x0_;
    const int top = max(grid.y(grid.row + row_) - match_.stage.radius, 0) - y0_;
    const int bottom = min(grid.y(grid.row + last_row) + match_.stage.radius, grid.last_y) - y0_;
    const int tiles = (right - left) / 8 + 1;
    // From the middle outwards: near candidates are the likeliest, and lower the limits early.
    for (int i = 0; i < tiles; ++i) {
      const int tile = tiles / 2 + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
      run_column(left + 8 * (tile < 0 ? tile + tiles : tile), top, bottom);
    }
    merge_queues(1);
    for (int i = 0; i < kRefs; ++i) store(i);
  }

 private:
  __device__ __forceinline__ void load_references() {
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
      reference.limit = match_.limit;
      reference.last = kNoKey;
      reference.queue = static_cast<uint32_t>(__cvta_generic_to_shared(queues_ + 32 * s + lane_));
      reference.next = reference.queue;
    }
    for (int i = 0; i < kRefs; ++i) best_[i * kBest + lane_] = lane_ == 0 ? 0 : kNoKey;
  }

  // The limits of candidates in column `at + 2 * part_ + j`.
  __device__ __forceinline__ void set_limits(int at) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int dx = x0_ + at + 2 * part_ + j - reference_[s].x;
        const bool reachable = reference_[s].exists && abs(dx) <= match_.stage.radius;
        limit_[s][j] = reachable ? reference_[s].limit : 0;
      }
    }
  }

  // The candidates of columns at..at+7 and rows top..bottom.
  __device__ __forceinline__ void run_column(int at, int top, int bottom) {
    set_limits(at);
    const int x = at + group_ + part_ % 2 * 4;
    const uint2* tile = tile_ + (top + part_ / 2) * args_.shape.tile_stride;
    const int* energies = energies_ + top * args_.shape.energy_stride + at + 2 * part_;
    Offset offset[2];
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      offset[s].dy = y0_ + top - reference_[s].y + match_.stage.radius;
      offset[s].index =
          1 + offset[s].dy * side_ + x0_ + at + 2 * part_ - reference_[s].x + match_.stage.radius;
    }
    uint2 rows[8];  // patch rows y + i and y + i + 1 in rows[i]
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      rows[i] = four_pixels(tile, x);
      tile += args_.shape.tile_stride;
    }
#pragma unroll 1
    for (int y = top; y <= bottom; y += 2) {
      int distance[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        rows[i + 6] = four_pixels(tile, x);
        tile += args_.shape.tile_stride;
        distances(rows, i, *reinterpret_cast<const int2*>(energies), distance[i]);
        energies += args_.shape.energy_stride;
      }
      collect(distance[0], offset);
      collect(distance[1], offset);
#pragma unroll
      for (int i = 0; i < 6; ++i) rows[i] = rows[i + 2];
      if (__any_sync(kFullWarp, max(reference_[0].next, reference_[1].next - 4 * 32) >
                                    reference_[0].queue + full_)) {
        merge_queues(args_.shape.queue / 2);
        set_limits(at);
      }
    }
  }

  // |P - Q|^2 of references group_ and group_ + 8 with two candidates each.
  __device__ __forceinline__ void distances(const uint2 (&rows)[8], int i, int2 energy,
                                            int (&distance)[4]) const {
    const int e0 = reference_[0].energy, e1 = reference_[1].energy;
    int high[4] = {}, middle[4] = {};
    int low[4] = {energy.x + e0, energy.y + e0, energy.x + e1, energy.y + e1};
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
      const uint2 b0 = rows[i + 2 * k], b1 = rows[i + 2 * k + 2];
      const uint32_t ah[4] = {high_[k][0], high_[k][1], high_[k + 1][0], high_[k + 1][1]};
      const uint32_t al[4] = {low_[k][0], low_[k][1], low_[k + 1][0], low_[k + 1][1]};
      multiply_add(high, ah, b0.x, b1.x);
      multiply_add(middle, ah, b0.y, b1.y);
      multiply_add(low, al, b0.y, b1.y);
      multiply_add(middle, al, b0.x, b1.x);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      distance[k] = (high[k] << 2 * kBits) + (middle[k] << kBits) + low[k];
    }
  }

  // Where a row of candidates stands in a reference's search window.
  struct Offset {
    int dy;     // 0..2 radius
    int index;  // of the lane's first candidate, as in a key
  };

  // Keys that may enter a group go to the queues. The reference itself comes along, too. Moves on
  // to the next row.
  __device__ __forceinline__ void collect(const int (&distance)[4], Offset (&offset)[2]) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      LaneReference& reference = reference_[s];
      const bool reachable = static_cast<unsigned>(offset[s].dy) < static_cast<unsigned>(side_);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int d = distance[2 * s + j];
        const uint32_t key = (static_cast<uint32_t>(d) >> match_.shift << kKeyIndexBits) +
                             static_cast<uint32_t>(offset[s].index + j);
        if (d < limit_[s][j] && key < reference.last && reachable) {
          store_shared(reference.next, key);
          reference.next += kQueueStep;
        }
      }
      ++offset[s].dy;
      offset[s].index += side_;
    }
  }

  // The queues of references that have one with at least `least` keys enter the best keys. Two
  // references at once, to hide the latency of shuffles.
  __device__ __forceinline__ void merge_queues(int least) {
    __syncwarp();
    const uint32_t counts = (reference_[0].next - reference_[0].queue) / kQueueStep |
                            (reference_[1].next - reference_[1].queue) / kQueueStep << 16;
    const uint32_t own =
        1 + match_.stage.radius * side_ + match_.stage.radius;  // key of the reference itself
#pragma unroll 1
    for (int number = 0; number < kRefs / 2; ++number) {
      const int owner = number * 4 + part_;
      const uint32_t both = __shfl_sync(kFullWarp, counts, owner);
      const int count[2] = {static_cast<int>(both & 0xffff), static_cast<int>(both >> 16)};
      const int larger = max(count[0], count[1]);
      if (!__any_sync(kFullWarp, larger >= least)) continue;
      uint32_t* const best_keys = best_ + number * kBest + lane_;
      uint32_t best[2] = {best_keys[0], best_keys[kRefs / 2 * kBest]};
#pragma unroll 1
      for (int slot = group_; __any_sync(kFullWarp, slot < larger); slot += 8) {
        const uint32_t* const queue = queues_ + slot * (kQueueStep / 4) + owner;
        uint32_t key[2];
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          key[s] = slot < count[s] ? queue[32 * s] : kNoKey;
          if (key[s] == own) key[s] = kNoKey;  // it is among the best already, with key 0
        }
        best[0] = merged_smallest(best[0], key[0], lane_);
        best[1] = merged_smallest(best[1], key[1], lane_);
      }
      best_keys[0] = best[0];
      best_keys[kRefs / 2 * kBest] = best[1];
      const uint32_t last[2] = {__shfl_sync(kFullWarp, best[0], match_.stage.group - 1),
                                __shfl_sync(kFullWarp, best[1], match_.stage.group - 1)};
      if (number == group_) {
        restart(reference_[0], last[0]);
        restart(reference_[1], last[1]);
      }
    }
    __syncwarp();
  }

  __device__ __forceinline__ void restart(LaneReference& reference, uint32_t last) const {
    reference.next = reference.queue;
    if (last == kNoKey) return;
    reference.last = last;
    reference.limit = min(reference.limit, limit_above(last >> kKeyIndexBits, match_.shift));
  }

  __device__ __forceinline__ void store(int number) {
    const int column = column_ + number % kSide, row = row_ + number / kSide;
    if (column >= match_.grid.columns || row >= match_.row + match_.rows) return;
    store_group(match_.groups +
                    (static_cast<size_t>(row) * match_.grid.columns + column) * match_.stage.group,
                best_[number * kBest + lane_], match_.stage.group, match_.stage.radius, lane_);
  }

  const TensorArgs& args_;
  const MatchArgs& match_;
  const int column_, row_;  // of the first reference, in the grid
  const int x0_, y0_;       // of the tile
  const uint2* tile_;
  const int* energies_;
  uint32_t *best_, *queues_;
  const int lane_, group_, part_, side_;
  const uint32_t full_;              // bytes of a queue that has no place for another two rows
  LaneReference reference_[2];       // numbers group_ and group_ + 8
  uint32_t high_[4][2], low_[4][2];  // row pair, reference
  int limit_[2][2];                  // reference, candidate
};

__global__ void __launch_bounds__(256, 2) match_blocks(const __grid_constant__ TensorArgs args) {
  extern __shared__ uint4 shared[];
  const Shape& shape = args.shape;
  const MatchArgs& match = args.match;
  const int warp = threadIdx.x / 32;
  uint2* tile = reinterpret_cast<uint2*>(shared);
  int* energies = reinterpret_cast<int*>(tile + shape.tile_stride * shape.tile_height);
  uint32_t* words = reinterpret_cast<uint32_t*>(energies + shape.energy_stride * shape.height);
  const int column = blockIdx.x * kSide * shape.across;
  const int row = match.row + blockIdx.y * kSide * shape.down;
  const int x0 = match.grid.x(match.grid.column + column) - match.stage.radius;
  const int y0 = match.grid.y(match.grid.row + row) - match.stage.radius;
  load_tile(args, x0, y0, tile);
  __syncthreads();
  fill_energies(args, x0, y0, tile, reinterpret_cast<int*>(words), energies);
  __syncthreads();
  const int warp_column = column + warp % shape.across * kSide;
  const int warp_row = row + warp / shape.across * kSide;
  if (warp_column >= match.grid.columns || warp_row >= match.row + match.rows) return;
  WarpMatcher(args, warp_column, warp_row, {x0, y0, tile, energies},
              words + warp * warp_words(shape.queue))
      .run();
}

Shape shape_of(const MatchArgs& args, int across, int down, int queue) {
  Shape shape{};
  shape.across = across;
  shape.down = down;
  shape.queue = queue;
  const auto span = [&](int warps) {
    return (kSide * warps - 1) * args.grid.step + 2 * args.stage.radius + 1;
  };
  // A warp's columns start at an even pixel and come in eights, its rows in twos.
  shape.width = span(across) + 1 + 7;
  shape.height = span(down) + 1;
  shape.energy_stride = (shape.width + 1) / 2 * 2;
  // Two rows that are read at once fall into different halves of the banks.
  shape.tile_stride = (shape.width + 7) / 4 + 2;
  while (shape.tile_stride % 16 < 5 || shape.tile_stride % 16 > 11) ++shape.tile_stride;
  shape.tile_height = shape.height + kTensorPatch - 1;
  const size_t tile = sizeof(uint2) * shape.tile_stride * shape.tile_height;
  const size_t energies = sizeof(int) * shape.energy_stride * shape.height;
  const size_t rows = sizeof(int) * shape.energy_stride * shape.tile_height;
  const size_t words = sizeof(int) * across * down * warp_words(queue);
  shape.bytes = tile + energies + std::max(rows, words);
  return shape;
}

// The shape that keeps most warps on a multiprocessor, the first of equals; none when `bytes` is 0.
Shape best_shape(const StageJob& job, const MatchArgs& args) {
  constexpr int kShapes[][2] = {{4, 2}, {2, 2}, {2, 1}, {1, 1}};
  constexpr int kMostWarps = 16;  // by registers
  Shape best{};
  int most = 0;
  for (int queue : {24, 16}) {
    for (const auto& [across, down] : kShapes) {
      const Shape shape = shape_of(args, across, down, queue);
      if (shape.bytes > job.limits.shared_bytes) continue;
      const int warps = across * down;
      const int resident = std::min(job.blocks_that_fit(shape.bytes), kMostWarps / warps) * warps;
      if (resident > most) best = shape;
      most = std::max(most, resident);
    }
  }
  return best;
}

}  // namespace

bool match_tensor(const StageJob& job, const MatchArgs& args) {
  const TensorArgs tensor{args, best_shape(job, args)};
  const Shape& shape = tensor.shape;
  if (shape.bytes == 0) return false;
  const int wide = kSide * shape.across, high = kSide * shape.down;
  const dim3 blocks((args.grid.columns + wide - 1) / wide, (args.rows + high - 1) / high);
  launch("BM3D matching on matrix units", match_blocks,
         {blocks, 32 * shape.across * shape.down, shape.bytes, job.method->stream}, tensor);
  return true;
}

}  // namespace grainless::cuda
