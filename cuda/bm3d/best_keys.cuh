// SPDX-License-Identifier: MIT
// The smallest candidate keys of eight references at a time: four neighbouring lanes of a warp have
// one reference, a lane kKeys of its keys in registers, so that most comparisons need no other
// lane. Key i of part p is number p * kKeys + i in order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "select.cuh"

namespace grainless::cuda {

inline constexpr int kParts = 4;  // lanes a reference

__device__ __forceinline__ void order(uint32_t& low, uint32_t& high) {
  const uint32_t smaller = min(low, high);
  high = max(low, high);
  low = smaller;
}

// Ascending within each lane, by odd-even merges (Batcher 1968).
template <int kKeys>
__device__ __forceinline__ void sort_in_lane(uint32_t (&keys)[kKeys]) {
#pragma unroll
  for (int run = 1; run < kKeys; run *= 2) {
#pragma unroll
    for (int distance = run; distance >= 1; distance /= 2) {
#pragma unroll
      for (int i = 0; i + distance < kKeys; ++i) {
        const int from = i - distance % run;
        const bool pair = from >= 0 && from / distance % 2 == 0;
        const bool same_run = i / (2 * run) == (i + distance) / (2 * run);
        if (pair && same_run) order(keys[i], keys[i + distance]);
      }
    }
  }
}

// One step of a bitonic merge between lanes: of a pair, the lane without `distance` in its part
// keeps the smaller keys.
template <int kKeys>
__device__ __forceinline__ void exchange_lanes(uint32_t (&keys)[kKeys], int distance, int part) {
#pragma unroll
  for (int i = 0; i < kKeys; ++i) keys[i] = exchange(keys[i], distance, part);
}

// The steps within a lane.
template <int kKeys>
__device__ __forceinline__ void merge_in_lane(uint32_t (&keys)[kKeys]) {
#pragma unroll
  for (int distance = kKeys / 2; distance >= 1; distance /= 2) {
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      if ((i & distance) == 0) order(keys[i], keys[i + distance]);
    }
  }
}

template <int kKeys>
__device__ __forceinline__ void invert(uint32_t (&keys)[kKeys], uint32_t mask) {
#pragma unroll
  for (int i = 0; i < kKeys; ++i) keys[i] ^= mask;
}

// best ascends over the parts; it becomes the smallest of best and keys. Where a run of lanes shall
// descend for the next merge, its keys are inverted and ascend.
template <int kKeys>
__device__ __forceinline__ void keep_smallest(uint32_t (&best)[kKeys], uint32_t (&keys)[kKeys],
                                              int part) {
  const uint32_t odd = (part & 1) != 0 ? ~0u : 0u, second = (part & 2) != 0 ? ~0u : 0u;
  invert(keys, odd);
  sort_in_lane(keys);
  invert(keys, odd ^ second);
  exchange_lanes(keys, 1, part);
  merge_in_lane(keys);
  invert(keys, ~second);
  exchange_lanes(keys, 2, part);
  exchange_lanes(keys, 1, part);
  merge_in_lane(keys);
#pragma unroll
  for (int i = 0; i < kKeys; ++i) best[i] = min(best[i], ~keys[i]);
  exchange_lanes(best, 2, part);
  exchange_lanes(best, 1, part);
  merge_in_lane(best);
}

}  // namespace grainless::cuda
