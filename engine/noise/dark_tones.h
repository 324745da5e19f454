// SPDX-License-Identifier: MIT
// What the darkest blocks of a picture show of noise that was cut off at black.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sample.h"

namespace grainless {

inline constexpr int32_t kDarkTones = 160;  // 8-bit steps from black
inline constexpr int32_t kDarkSide = 8;     // of a block, in pixels

// Blocks of one colour whose mean is the array's index, rounded. Blocks that are all black have no
// noise and don't count.
struct DarkTone {
  int64_t blocks = 0;
  // Of `halves` halves of calm blocks whose other half has this mean: a half that is not chosen by
  // its own noise shows it without bias. Mean in steps, and the share of values that are exactly 0.
  int64_t halves = 0;
  double mean = 0, zeros = 0;
};
using DarkTones = std::array<DarkTone, kDarkTones>;

enum class End { kBlack, kWhite };

// All colours of all samples together. From white: of what they lack to white.
DarkTones measure_dark_tones(std::span<const Sample> samples, End from, ThreadPool& pool);

}  // namespace grainless
