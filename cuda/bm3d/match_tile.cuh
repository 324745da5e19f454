// SPDX-License-Identifier: MIT
// The pixels that a block of matching needs, in shared memory (match_tensor.cu).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "match.cuh"

namespace grainless::cuda {

inline constexpr int kTensorPatch = 8;
inline constexpr int kBits = 7;  // of the low part of a match value
// |Q|^2 where no candidate stands: no limit admits it, and the distance does not overflow.
inline constexpr int kNowhere = (1 << 30) + (1 << 28);

// How a block shares its tile.
struct Shape {
  int across, down;              // warps
  int queue;                     // keys waiting a lane and reference of its two
  int width, height;             // of candidates
  int tile_stride, tile_height;  // in runs of four pixels, and in pixels
  int energy_stride;
  int words;  // where best keys and queues begin, in 16 bytes
  size_t bytes;
};

struct TensorArgs {
  MatchArgs match;
  Shape shape;
};

// High and low parts of four neighbouring match values.
__device__ __forceinline__ uint2 split(int q0, int q1, int q2, int q3) {
  const uint32_t even = __byte_perm(q0, q1, 0x5410), odd = __byte_perm(q2, q3, 0x5410);
  const uint32_t mask = 0x007f007fu;
  const uint32_t low = __byte_perm(even & mask, odd & mask, 0x6420);
  const uint32_t high = __byte_perm(even << 1, odd << 1, 0x7531);
  return {high, low};
}

// The tile: high and low parts of runs of four pixels, 0 outside of the plane.
__device__ inline void load_tile(const TensorArgs& args, int x0, int y0, uint2* tile) {
  const Shape& shape = args.shape;
  const Rect& rect = args.match.rect;
  for (int y = threadIdx.x / 32; y < shape.tile_height; y += blockDim.x / 32) {
    const int py = y0 + y - rect.y;
    const int16_t* row = args.match.plane + static_cast<ptrdiff_t>(py) * rect.width;
    for (int x = threadIdx.x % 32; x < shape.tile_stride; x += 32) {
      const int px = x0 + 4 * x - rect.x;
      int q[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const bool inside = px + k >= 0 && px + k < rect.width && py >= 0 && py < rect.height;
        q[k] = inside ? row[px + k] : 0;
      }
      tile[y * shape.tile_stride + x] = split(q[0], q[1], q[2], q[3]);
    }
  }
}

// Pixels x..x+3 of a row that starts at `row`.
__device__ __forceinline__ uint2 four_pixels(const uint2* row, int x) {
  const uint2 a = row[x / 4], b = row[x / 4 + 1];
  const int shift = x % 4 * 8;
  return {__funnelshift_r(a.x, b.x, shift), __funnelshift_r(a.y, b.y, shift)};
}

__device__ __forceinline__ int squares(uint2 q, uint32_t mask) {
  const int high = q.x & mask, low = q.y & mask;
  return (__dp4a(high, high, 0) << 2 * kBits) + (__dp4a(high, low, 0) << (kBits + 1)) +
         __dp4a(low, low, 0);
}

// |Q|^2 of every candidate, by sums along rows and then down the columns.
__device__ inline void fill_energies(const TensorArgs& args, int x0, int y0, const uint2* tile,
                                     int* rows, int* energies) {
  const Shape& shape = args.shape;
  const int patch = args.match.stage.patch;
  const uint32_t first = patch >= 4 ? ~0u : (1u << 8 * patch) - 1;
  const uint32_t second = patch >= 8 ? ~0u : patch > 4 ? (1u << 8 * (patch - 4)) - 1 : 0;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  for (int y = warp; y < shape.tile_height; y += warps) {
    const uint2* row = tile + y * shape.tile_stride;
    for (int x = lane; x < shape.width; x += 32) {
      rows[y * shape.energy_stride + x] =
          squares(four_pixels(row, x), first) + squares(four_pixels(row, x + 4), second);
    }
  }
  __syncthreads();
  const ReferenceGrid& grid = args.match.grid;
  for (int y = warp; y < shape.height; y += warps) {
    const bool inside = y0 + y >= 0 && y0 + y <= grid.last_y;
    for (int x = lane; x < shape.width; x += 32) {
      int sum = 0;
      for (int k = 0; k < patch; ++k) sum += rows[(y + k) * shape.energy_stride + x];
      const bool candidate = inside && x0 + x >= 0 && x0 + x <= grid.last_x;
      energies[y * shape.energy_stride + x] = candidate ? sum : kNowhere;
    }
  }
}

}  // namespace grainless::cuda
