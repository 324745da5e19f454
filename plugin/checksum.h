// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace grainless {

// 64 bits for a block of bytes, to notice that it changed: every change of a single byte shows, and
// of 2^64 other changes one is missed. Not against forgers. Each step is a bijection of the state.
inline uint64_t checksum(const void* data, size_t bytes) {
  constexpr int kLanes = 4;  // independent chains, which the processor overlaps
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  uint64_t lanes[kLanes] = {1, 2, 3, 4};
  const auto mix = [](uint64_t state, uint64_t word) {
    state = (state ^ word) * kOdd;
    return state ^ (state >> 29);
  };
  const auto* at = static_cast<const uint8_t*>(data);
  size_t left = bytes;
  for (; left >= sizeof(lanes); left -= sizeof(lanes), at += sizeof(lanes)) {
    uint64_t words[kLanes];
    std::memcpy(words, at, sizeof(words));
    for (int i = 0; i < kLanes; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  uint64_t sum = bytes;
  for (const uint64_t lane : lanes) sum = mix(sum, lane);
  for (; left > 0; --left) sum = mix(sum, *at++);
  return sum;
}

}  // namespace grainless
