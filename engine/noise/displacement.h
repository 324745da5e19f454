// SPDX-License-Identifier: MIT
// How a square of one layer is displaced in another one, and what is left of their difference when
// that is undone: noise, and what moves in other ways. So layers show their noise although they
// move.
#pragma once

#include <cstddef>

#include "linear_system.h"
#include "motion.h"
#include "sample.h"

namespace grainless {

inline constexpr int32_t kLeftSide = 16;  // of a block, pixels

// What a displacement leaves of a block's difference.
struct Left {
  double variance[kSampleLevels][kMaxChannels];  // halved
  double kurtosis;                               // of luma: 3 of noise, more of scattered dots
};

inline constexpr size_t kRound = 8;  // pixels round one, a row after the other

struct Displacement {
  bool known = false;                    // both are valid there
  int32_t right = 0, down = 0;           // whole pixels, up to 31
  double more_right = 0, more_down = 0;  // and parts of one
  // Of what the pixels round one differ from it by, in the mean of both: a filter which says how
  // differently the layers are blurred, parts of a pixel included.
  Vector<kRound> round{};
  double left = 0;    // mean square of what they differ by then
  bool sure = false;  // the square has more texture than noise
};

// Whether all pixels are valid, of those that the tile has there.
bool is_valid(const SampleTile& tile, const Rect& rect);

// Of the square of kMotionSide pixels at (x, y), or as much of it as the tile has.
Displacement find_displacement(const SampleTile& a, const SampleTile& b, int32_t x, int32_t y);

// What was found there, or about what others have moved by, `like`, where that leaves less.
Displacement displaced_like(const Displacement& like, const SampleTile& a, const SampleTile& b,
                            int32_t x, int32_t y, const Displacement& found);

// Of the block of kLeftSide pixels at (x, y). False where it lies beyond b's tile.
bool left_of_block(const SampleTile& a, const SampleTile& b, const Displacement& by,
                   int32_t channels, int32_t x, int32_t y, Left& left);

}  // namespace grainless
