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

#include "best_keys.cuh"
#include "cuda/runtime/check.h"
#include "match.cuh"
#include "match_tile.cuh"

namespace grainless::cuda {
namespace {

constexpr int kSide = 4;  // references a warp takes across and down
constexpr int kRefs = kSide * kSide;
constexpr int kQueueStep = 2 * 4 * 32;  // bytes from key to key of a queue
constexpr int kSpare = 8;               // four rows of candidates add as many keys to a queue

// Of a warp whose queues hold `queue` keys, and whose lanes kKeys of the best ones.
__host__ __device__ constexpr int warp_words(int keys, int queue) {
  return kRefs * kParts * keys + queue * kQueueStep / 4;
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
  int x, y;       // position
  int energy;     // |P|^2
  int limit;      // only sums of squares below it can enter the group,
  uint32_t last;  // and only keys below the group's last one
  uint32_t next;  // shared memory address of the next key in the lane's queue
};

// An ordinary store, but at an address that no instruction has to compute. The compiler takes
// __syncwarp() for all that happens to memory.
__device__ __forceinline__ void store_shared(uint32_t address, uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value));
}

// -2 q of four pixels, in two parts again. 2 q is what both parts are as bytes of 16 bits. The high
// part of 2^14 would be no signed byte: q is within +-8191 (engine/plan/match_scale.cpp).
__device__ __forceinline__ uint2 doubled_negative(uint2 q) {
  const uint32_t low = q.y << 1;
  const uint32_t a = __vneg2(__byte_perm(low, q.x, 0x5140)),
                 b = __vneg2(__byte_perm(low, q.x, 0x7362));
  const uint32_t mask = 0x007f007fu;
  return {__byte_perm(a << 1, b << 1, 0x7531), __byte_perm(a & mask, b & mask, 0x6420)};
}

// A block's pixels in shared memory, from (x0, y0) on, and the energies of their patches.
struct BlockTile {
  int x0, y0;
  const uint2* pixels;
  const int* energies;
};

// One warp's matching; a lane keeps kKeys of the best keys.
template <int kKeys>
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
        queue_(words + kRefs * kParts * kKeys + threadIdx.x % 32),
        lane_(threadIdx.x % 32),
        group_(lane_ / kParts),
        part_(lane_ % kParts),
        side_(2 * args.match.stage.radius + 1) {
    queues_ = static_cast<uint32_t>(__cvta_generic_to_shared(queue_));
    // Kept, where the compiler would compute it again in each turn.
    full_ = queues_ + (args.shape.queue - kSpare) * kQueueStep;
    asm volatile("" : "+r"(full_));
  }

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
    merge_queues();
    for (int s = 0; s < 2; ++s) store(s);
  }

 private:
  // The rows of candidates y and y + 1 (i) as the second matrix of a product: patch rows 0, 1 and
  // 4, 5 of them, or 2, 3 and 6, 7.
  struct Rows {
    uint32_t high[2][2], low[2][2];  // [i][patch rows]
  };

  // Four values of the patch rows 2k and 2k + 1.
  __device__ __forceinline__ uint2 load_reference(int x, int y, int k) const {
    const int patch = match_.stage.patch, row = 2 * k + part_ / 2, column = part_ % 2 * 4;
    const uint2* const pixels = tile_ + (y + row) * args_.shape.tile_stride;
    const uint2 q = doubled_negative(four_pixels(pixels, x + column));
    const int inside = row < patch ? min(max(patch - column, 0), 4) : 0;
    const uint32_t mask = inside == 4 ? ~0u : (1u << 8 * inside) - 1;
    return {q.x & mask, q.y & mask};
  }

  __device__ __forceinline__ void load_references() {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const int number = group_ + 8 * s;
      const int column = column_ + number % kSide, row = row_ + number / kSide;
      LaneReference& reference = reference_[s];
      reference.exists = column < match_.grid.columns && row < match_.row + match_.rows;
      reference.x = match_.grid.x(match_.grid.column + (reference.exists ? column : column_));
      reference.y = match_.grid.y(match_.grid.row + (reference.exists ? row : row_));
      const int x = reference.x - x0_, y = reference.y - y0_;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const uint2 q = load_reference(x, y, k);
        high_[k][s] = q.x;
        low_[k][s] = q.y;
      }
      reference.energy = energies_[y * args_.shape.energy_stride + x];
      reference.limit = match_.limit;
      reference.last = kNoKey;
      reference.next = queues_ + 128 * s;
    }
    for (int i = 0; i < kRefs * kParts * kKeys / 32; ++i) best_[32 * i + lane_] = kNoKey;
    for (int i = 0; i < args_.shape.queue * 2; ++i) queue_[32 * i] = kNoKey;
    __syncwarp();
    if (part_ == 0) {
      for (int s = 0; s < 2; ++s) best_keys(s)->x = 0;
    }
  }

  // The lane's keys of its reference s: runs of four, kKeys / 4 of them kRefs * kParts apart.
  __device__ __forceinline__ uint4* best_keys(int s) const {
    return reinterpret_cast<uint4*>(best_) + 32 * s + lane_;
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

  // Where the rows of candidates stand: their pixels and energies, and in search windows.
  struct Place {
    const uint2* pixels;  // of the next row to load
    const int* energies;  // of the next row of candidates
    int shift;            // of a lane's four pixels in the two runs read
    int dy[2];            // in a reference's window, 0..2 radius
    int index[2];         // of the lane's first candidate, as in a key
  };

  __device__ __forceinline__ uint2 next_pixels(Place& place) const {
    const uint2 a = place.pixels[0], b = place.pixels[1];
    place.pixels += tile_stride_;
    return {__funnelshift_r(a.x, b.x, place.shift), __funnelshift_r(a.y, b.y, place.shift)};
  }

  // The candidates of columns at..at+7 and rows top..bottom.
  __device__ __forceinline__ void run_column(int at, int top, int bottom) {
    set_limits(at);
    tile_stride_ = args_.shape.tile_stride;
    energy_stride_ = args_.shape.energy_stride;
    asm volatile("" : "+r"(tile_stride_), "+r"(energy_stride_));
    const int x = at + group_ + part_ % 2 * 4;
    Place place;
    place.pixels = tile_ + (top + part_ / 2) * tile_stride_ + x / 4;
    place.energies = energies_ + top * energy_stride_ + at + 2 * part_;
    place.shift = x % 4 * 8;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      place.dy[s] = y0_ + top - reference_[s].y + match_.stage.radius;
      place.index[s] =
          1 + place.dy[s] * side_ + x0_ + at + 2 * part_ - reference_[s].x + match_.stage.radius;
    }
    Rows first, second;  // of patch rows 0, 1, 4, 5 and 2, 3, 6, 7
#pragma unroll
    for (int row = 0; row < 6; ++row) {
      const uint2 q = next_pixels(place);
      Rows& rows = row / 2 % 2 == 0 ? first : second;
      rows.high[row % 2][row / 4] = q.x;
      rows.low[row % 2][row / 4] = q.y;
    }
#pragma unroll 1
    for (int y = top; y <= bottom; y += 4) {
      two_rows(first, second, place);
      if (y + 2 <= bottom) two_rows(second, first, place);
      if (__any_sync(kFullWarp, max(reference_[0].next, reference_[1].next - 128) > full_)) {
        merge_queues();
        set_limits(at);
      }
    }
  }

  // Two rows of candidates: completes `second`, and makes of `first` what the next two rows call
  // `second`, but for its last patch rows.
  __device__ __forceinline__ void two_rows(Rows& first, Rows& second, Place& place) {
    int distance[2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint2 q = next_pixels(place);
      second.high[i][1] = q.x;
      second.low[i][1] = q.y;
      distances(first, second, i, *reinterpret_cast<const int2*>(place.energies), distance[i]);
      place.energies += energy_stride_;
    }
    collect(distance[0], place);
    collect(distance[1], place);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      first.high[i][0] = first.high[i][1];
      first.low[i][0] = first.low[i][1];
    }
  }

  // |P - Q|^2 of references group_ and group_ + 8 with two candidates each.
  __device__ __forceinline__ void distances(const Rows& first, const Rows& second, int i,
                                            int2 energy, int (&distance)[4]) const {
    const int e0 = reference_[0].energy, e1 = reference_[1].energy;
    int high[4] = {}, middle[4] = {};
    int low[4] = {energy.x + e0, energy.y + e0, energy.x + e1, energy.y + e1};
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const Rows& rows = k == 0 ? first : second;
      const uint32_t ah[4] = {high_[k][0], high_[k][1], high_[k + 2][0], high_[k + 2][1]};
      const uint32_t al[4] = {low_[k][0], low_[k][1], low_[k + 2][0], low_[k + 2][1]};
      multiply_add(high, ah, rows.high[i][0], rows.high[i][1]);
      multiply_add(middle, ah, rows.low[i][0], rows.low[i][1]);
      multiply_add(low, al, rows.low[i][0], rows.low[i][1]);
      multiply_add(middle, al, rows.high[i][0], rows.high[i][1]);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      distance[k] = (high[k] << 2 * kBits) + (middle[k] << kBits) + low[k];
    }
  }

  // Keys that may enter a group go to the queues. The reference itself comes along, too. Moves on
  // to the next row.
  __device__ __forceinline__ void collect(const int (&distance)[4], Place& place) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      LaneReference& reference = reference_[s];
      const bool reachable = static_cast<unsigned>(place.dy[s]) < static_cast<unsigned>(side_);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int d = distance[2 * s + j];
        const uint32_t key = (static_cast<uint32_t>(d) >> match_.shift << kKeyIndexBits) +
                             static_cast<uint32_t>(place.index[s] + j);
        if (reachable && d < limit_[s][j] && key < reference.last) {
          store_shared(reference.next, key);
          reference.next += kQueueStep;
        }
      }
      ++place.dy[s];
      place.index[s] += side_;
    }
  }

  // The queues' keys enter the best ones, and the limits follow.
  __device__ __forceinline__ void merge_queues() {
    __syncwarp();
    // Key of the reference itself, which is among the best from the beginning, with key 0.
    const uint32_t own = 1 + match_.stage.radius * side_ + match_.stage.radius;
#pragma unroll 1
    for (int s = 0; s < 2; ++s) {
      const uint32_t next = s == 0 ? reference_[0].next : reference_[1].next;
      const int count = static_cast<int>(next - queues_) - 128 * s;
      if (!__any_sync(kFullWarp, count > 0)) continue;
      uint32_t* at = queue_ + 32 * s;
      int done = 0;
      uint4* const kept = best_keys(s);
      uint32_t best[kKeys];
#pragma unroll
      for (int i = 0; i < kKeys; i += 4) {
        const uint4 keys = kept[i / 4 * kRefs * kParts];
        best[i] = keys.x;
        best[i + 1] = keys.y;
        best[i + 2] = keys.z;
        best[i + 3] = keys.w;
      }
#pragma unroll 1
      do {
        uint32_t keys[kKeys];
#pragma unroll
        for (int i = 0; i < kKeys; ++i) {
          uint32_t& waiting = at[i * kQueueStep / 4];
          keys[i] = waiting;
          waiting = kNoKey;
          if (keys[i] == own) keys[i] = kNoKey;
        }
        keep_smallest(best, keys, part_);
        at += kKeys * kQueueStep / 4;
        done += kKeys * kQueueStep;
      } while (__any_sync(kFullWarp, count > done));
#pragma unroll
      for (int i = 0; i < kKeys; i += 4) {
        kept[i / 4 * kRefs * kParts] = {best[i], best[i + 1], best[i + 2], best[i + 3]};
      }
      __syncwarp();
      const int last = match_.stage.group - 1;
      const uint4* const keys = kept - part_ + last / kKeys + last % kKeys / 4 * kRefs * kParts;
      restart(s, reinterpret_cast<const uint32_t*>(keys)[last % 4]);
    }
  }

  __device__ __forceinline__ void restart(int s, uint32_t last) {
    const auto set = [&](LaneReference& reference) {
      reference.next = queues_ + 128 * s;
      if (last == kNoKey) return;
      reference.last = last;
      reference.limit = min(reference.limit, limit_above(last >> kKeyIndexBits, match_.shift));
    };
    if (s == 0) {
      set(reference_[0]);
    } else {
      set(reference_[1]);
    }
  }

  // What the lane has of group s: key 0 is the reference.
  __device__ __forceinline__ void store(int s) const {
    const int number = group_ + 8 * s, group = match_.stage.group;
    const int column = column_ + number % kSide, row = row_ + number / kSide;
    const uint32_t* const keys = best_ + 4 * (32 * s + lane_);
    uint32_t best[kKeys];
    int found = 0;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      best[i] = keys[i / 4 * (4 * kRefs * kParts) + i % 4];
      found += best[i] != kNoKey;
    }
    found += __shfl_xor_sync(kFullWarp, found, 1);
    found += __shfl_xor_sync(kFullWarp, found, 2);
    const int count = 1 << (31 - __clz(min(found, group)));
    if (column >= match_.grid.columns || row >= match_.row + match_.rows) return;
    uint16_t* const out =
        match_.groups + (static_cast<size_t>(row) * match_.grid.columns + column) * group;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      const int place = part_ * kKeys + i;
      if (place < group) out[place] = place < count ? entry(best[i]) : kNoPatch;
    }
  }

  __device__ __forceinline__ uint16_t entry(uint32_t key) const {
    const int radius = match_.stage.radius, index = static_cast<int>(key & 4095u) - 1;
    const int y = index < 0 ? radius : index / side_, x = index < 0 ? radius : index - y * side_;
    return static_cast<uint16_t>(x | y << 6);
  }

  const TensorArgs& args_;
  const MatchArgs& match_;
  const int column_, row_;  // of the first reference, in the grid
  const int x0_, y0_;       // of the tile
  const uint2* tile_;
  const int* energies_;
  uint32_t *best_, *queue_;  // the lane's queue: of its first reference, 32 words on of its second
  const int lane_, group_, part_, side_;
  uint32_t queues_, full_;           // its address; beyond this one it has no place for four rows
  int tile_stride_, energy_stride_;  // Shape's
  LaneReference reference_[2];       // numbers group_ and group_ + 8
  uint32_t high_[4][2], low_[4][2];  // row pair, reference
  int limit_[2][2];                  // reference, candidate
};

template <int kKeys>
__global__ void __launch_bounds__(256, 2) match_blocks(const __grid_constant__ TensorArgs args) {
  extern __shared__ uint4 shared[];
  const Shape& shape = args.shape;
  const MatchArgs& match = args.match;
  const int warp = threadIdx.x / 32;
  uint2* tile = reinterpret_cast<uint2*>(shared);
  int* energies = reinterpret_cast<int*>(tile + shape.tile_stride * shape.tile_height);
  uint32_t* words = reinterpret_cast<uint32_t*>(shared + shape.words);
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
  WarpMatcher<kKeys>(args, warp_column, warp_row, {x0, y0, tile, energies},
                     words + warp * warp_words(kKeys, shape.queue))
      .run();
}

Shape shape_of(const MatchArgs& args, int across, int down, int keys, int queue) {
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
  const size_t words = sizeof(int) * across * down * warp_words(keys, queue);
  shape.words = static_cast<int>((tile + energies + sizeof(uint4) - 1) / sizeof(uint4));
  shape.bytes = shape.words * sizeof(uint4) + std::max(rows, words);
  return shape;
}

// The shape that keeps most warps on a multiprocessor, the first of equals; none when `bytes` is 0.
Shape best_shape(const StageJob& job, const MatchArgs& args, int keys) {
  constexpr int kShapes[][2] = {{4, 2}, {2, 2}, {2, 1}, {1, 1}};
  constexpr int kMostWarps = 16;  // by registers
  Shape best{};
  int most = 0;
  for (int queue : {24, 16}) {
    for (const auto& [across, down] : kShapes) {
      const Shape shape = shape_of(args, across, down, keys, queue);
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
  const int keys = args.stage.group <= 4 * kParts ? 4 : 8;
  const TensorArgs tensor{args, best_shape(job, args, keys)};
  const Shape& shape = tensor.shape;
  if (shape.bytes == 0) return false;
  const int wide = kSide * shape.across, high = kSide * shape.down;
  const dim3 blocks((args.grid.columns + wide - 1) / wide, (args.rows + high - 1) / high);
  launch("BM3D matching on matrix units", keys == 4 ? match_blocks<4> : match_blocks<8>,
         {blocks, 32 * shape.across * shape.down, shape.bytes, job.method->stream}, tensor);
  return true;
}

}  // namespace grainless::cuda
