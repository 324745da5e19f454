// SPDX-License-Identifier: MIT
// Whether two layers of a stack differ by noise or because something has moved, told by how they
// differ and not by how much: cameras that remove noise leave more of it in texture than elsewhere,
// as motion does.
#pragma once

#include <vector>

#include "sample.h"

namespace grainless {

inline constexpr int32_t kMotionSide = 64;   // of a square, pixels
inline constexpr int32_t kLeastMotion = 32;  // of a smaller picture's only one

// Of the variance that layers differ by: one that alone shows less has next to nothing of it.
inline constexpr double kHiddenNoise = 0.5;

enum class SquareState {
  kUnknown,  // invalid pixels, or both are plain
  kStill,
  kShaken,  // moved by a part of a pixel, as all others did
  kChanged,
};

// Of two layers: neighbours, others, or any of layers that differ little on average.
enum class Apart { kNext, kFurther, kOnAverage };

struct SquareMotion {
  SquareState state = SquareState::kUnknown;
  double share = 0;  // of the difference that one displacement explains, at most of levels
  double right = 0, down = 0;  // that displacement at half resolution, in pixels of full resolution
  double noise = 0;            // variance, of one layer, that none explains
  double quarter = 0;          // the same at quarter resolution
  bool moved = false;          // a displacement explains more than it would of noise
  double sharpness = 0;        // share of the difference that one layer's being sharper explains
  bool unlike_noise = false;   // differs in few pixels, or in how sharp it is
  bool coarse = false;         // as much at quarter resolution as pictures do, displacement or not
  double blur = 0;             // deviation of right and down, by what no displacement explains
};

// How many squares there are along a tile's side.
int32_t squares_along(int32_t pixels);

// The squares of a tile, whose right and lower rest is in none; of one that is smaller than a
// square, itself.
std::vector<Rect> motion_squares(const SampleTile& tile);

// Of the square of kMotionSide pixels at (x, y) of full resolution, a multiple of 4, or as much of
// it as the tile has, which is at least kLeastMotion in each direction. It has moved
// where one displacement explains a share of the difference that noise doesn't leave it (Lucas &
// Kanade 1981, at full, half and quarter resolution), and it has changed where it differs as much
// at quarter resolution as pictures do and noise doesn't, or where few of its pixels differ by
// much.
SquareMotion compare_square(const SampleTile& a, const SampleTile& b, int32_t x, int32_t y);

// Demosaicing and noise reduction make noise coarse, the latter where a picture is flat: squares
// that differ coarsely, but by no more than others, which don't, have at quarter resolution, are no
// longer coarse, and stand still unless they moved.
void forgive_coarseness(std::vector<SquareMotion>& squares);

// A camera held by hand, or frames that were aligned: all squares are displaced alike, by a part of
// a pixel. Where that explains little of what they differ by, their mean is better than each of
// them, and those that moved with the others become shaken. How much is little: more, where one
// layer alone doesn't tell the noise's variance, `known` being far from what no displacement
// explains; and then still more between layers that aren't next to each other. More, too, of
// layers that differ little on average. Leaves and waves move differently, what goes by further.
void forgive_shake(double known, Apart apart, std::vector<SquareMotion>& squares);

// Of at least one value; of an even number the greater one of both.
double median(std::vector<double> values);

}  // namespace grainless
