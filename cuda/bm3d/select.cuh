// SPDX-License-Identifier: MIT
// The smallest candidate keys, a key a lane of a warp, by bitonic networks (Batcher 1968).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "stage.cuh"

namespace grainless::cuda {

inline constexpr unsigned kFullWarp = 0xffffffffu;
inline constexpr uint32_t kNoKey = 0xffffffffu;

// Of a lane's key and that of the lane `distance` away, the lower lane keeps the smaller.
__device__ __forceinline__ uint32_t exchange(uint32_t key, int distance, int lane) {
  const uint32_t other = __shfl_xor_sync(kFullWarp, key, distance);
  return (lane & distance) == 0 ? min(key, other) : max(key, other);
}

// Where a run of `size` lanes shall descend, its keys are inverted and ascend.
__device__ __forceinline__ uint32_t inversion(int size, int lane) {
  return size == 32 || (lane & size) != 0 ? ~0u : 0u;
}

__device__ __forceinline__ uint32_t sorted_descending(uint32_t key, int lane) {
  key ^= inversion(2, lane);
#pragma unroll
  for (int size = 2; size <= 32; size *= 2) {
#pragma unroll
    for (int distance = size / 2; distance >= 1; distance /= 2) {
      key = exchange(key, distance, lane);
    }
    key ^= inversion(size, lane) ^ (size < 32 ? inversion(2 * size, lane) : 0u);
  }
  return key;
}

// best ascends; returns the 32 smallest of best and of the lanes' keys, ascending.
__device__ __forceinline__ uint32_t merged_smallest(uint32_t best, uint32_t key, int lane) {
  best = min(best, sorted_descending(key, lane));
#pragma unroll
  for (int distance = 16; distance >= 1; distance /= 2) best = exchange(best, distance, lane);
  return best;
}

// Only sums of squares below this can enter a group whose last key so far is `key`.
__host__ __device__ __forceinline__ int limit_above(uint32_t distance, int shift) {
  const uint64_t limit = (static_cast<uint64_t>(distance) + 1) << shift;
  return limit < (1u << 30) ? static_cast<int>(limit) : 1 << 30;
}

// What lane `lane` stores of a group: best ascends, key 0 is the reference.
__device__ __forceinline__ void store_group(uint16_t* out, uint32_t best, int group, int radius,
                                            int lane) {
  const int found = min(__popc(__ballot_sync(kFullWarp, best != kNoKey)), group);
  const int count = 1 << (31 - __clz(found));
  const int side = 2 * radius + 1, index = static_cast<int>(best & 4095u) - 1;
  const int x = index < 0 ? radius : index % side, y = index < 0 ? radius : index / side;
  if (lane < group) out[lane] = lane < count ? static_cast<uint16_t>(x | y << 6) : kNoPatch;
}

}  // namespace grainless::cuda
