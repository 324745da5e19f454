// SPDX-License-Identifier: MIT
// Sorting without branches: Batcher's merge exchange (Knuth, TAOCP 5.2.2 M), whose comparisons do
// not depend on the samples. Each 32-bit word holds the samples of two pairs of patches, 16 bits
// each, which are compared at once.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

namespace grainless::cuda {

// Calls compare(i, j), i < j, in the network's order.
template <typename Compare>
__host__ __device__ constexpr void merge_exchange(int n, const Compare& compare) {
  int highest = 1;
  while (2 * highest < n) highest *= 2;
  for (int p = highest; p > 0; p /= 2) {
    int residue = 0, distance = p;
    for (int q = highest; q >= p; q /= 2) {
      for (int i = 0; i + distance < n; ++i) {
        if ((i & p) == residue) compare(i, i + distance);
      }
      distance = q - p;
      residue = p;
    }
  }
}

constexpr int count_exchanges(int n) {
  int count = 0;
  merge_exchange(n, [&count](int, int) { ++count; });
  return count;
}

template <int kSamples>
struct Network {
  static constexpr int kCount = count_exchanges(kSamples);
  uint8_t low[kCount] = {}, high[kCount] = {};

  constexpr Network() {
    int i = 0;
    merge_exchange(kSamples, [this, &i](int a, int b) {
      low[i] = static_cast<uint8_t>(a);
      high[i++] = static_cast<uint8_t>(b);
    });
  }
};
template <int kSamples>
inline constexpr Network<kSamples> kNetwork{};

__device__ __forceinline__ void exchange(uint32_t& low, uint32_t& high) {
  const uint32_t smaller = __vmins2(low, high);
  high = __vmaxs2(low, high);
  low = smaller;
}

template <int kLow, int kHigh, int kSamples>
__device__ __forceinline__ void exchange_at(uint32_t (&samples)[kSamples]) {
  exchange(samples[kLow], samples[kHigh]);
}

// The samples stay in registers: every index is a constant. In pieces, for the compiler's sake.
template <int kSamples, int kFirst, int... kIndex>
__device__ __forceinline__ void exchange_some(uint32_t (&samples)[kSamples],
                                              std::integer_sequence<int, kIndex...>) {
  (exchange_at<kNetwork<kSamples>.low[kFirst + kIndex], kNetwork<kSamples>.high[kFirst + kIndex]>(
       samples),
   ...);
}

template <int kSamples, int kFirst = 0>
__device__ __forceinline__ void sort_registers(uint32_t (&samples)[kSamples]) {
  constexpr int kPiece = 64, kLeft = Network<kSamples>::kCount - kFirst;
  exchange_some<kSamples, kFirst>(
      samples, std::make_integer_sequence<int, (kLeft < kPiece ? kLeft : kPiece)>());
  if constexpr (kLeft > kPiece) sort_registers<kSamples, kFirst + kPiece>(samples);
}

}  // namespace grainless::cuda
