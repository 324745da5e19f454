// SPDX-License-Identifier: MIT
// Decides whether two layers of a stack differ by noise or because something has moved. It goes by
// how they differ, not by how much: cameras that remove noise leave more of it in texture than
// elsewhere, which looks like motion.
#pragma once

#include <vector>

#include "sample.h"

namespace grainless {

inline constexpr int32_t kMotionSide = 64;   // of a square, pixels
inline constexpr int32_t kLeastMotion = 32;  // of the only square in a smaller picture

// A layer whose own noise has less than this share of the variance that layers differ by has next
// to nothing of that variance.
inline constexpr double kHiddenNoise = 0.5;

enum class SquareState {
  kUnknown,  // invalid pixels, or both layers are plain there
  kStill,
  kShaken,  // moved by a part of a pixel, as all other squares did
  kChanged,
};

// How far apart two layers are: neighbours, others, or any of layers that differ little on average.
enum class Apart { kNext, kFurther, kOnAverage };

struct SquareMotion {
  SquareState state = SquareState::kUnknown;
  double share = 0;            // of the difference, explained by one displacement at its best level
  double right = 0, down = 0;  // that displacement at half resolution, in pixels of full resolution
  double noise = 0;            // variance in one layer that no displacement explains
  double quarter = 0;          // the same at quarter resolution
  bool moved = false;          // a displacement explains more than it would for noise
  double sharpness = 0;        // share of the difference explained by one layer being sharper
  bool unlike_noise = false;   // the layers differ in few pixels, or in sharpness
  bool coarse = false;         // as much at quarter resolution as in pictures, displaced or not
  double blur = 0;             // deviation of right and down, from what nothing explains
};

// How many squares there are along a tile's side.
int32_t squares_along(int32_t pixels);

// The squares of a tile; the rest at its right and lower border is in none. A tile that is smaller
// than a square is one.
std::vector<Rect> motion_squares(const SampleTile& tile);

// Compares the square of kMotionSide pixels at (x, y) of full resolution, a multiple of 4, or as
// much of it as the tile has, which must be at least kLeastMotion in each direction. It has moved
// where one displacement explains a larger share of the difference than it would for noise (Lucas
// and Kanade 1981, at full, half and quarter resolution). It has changed where it differs at
// quarter resolution as much as pictures do and noise doesn't, or where few of its pixels differ by
// much.
SquareMotion compare_square(const SampleTile& a, const SampleTile& b, int32_t x, int32_t y);

// Demosaicing and noise reduction make noise coarse, the latter where a picture is flat. So a
// square that differs coarsely, but at quarter resolution by no more than squares that don't, is no
// longer called coarse, and stands still unless it moved.
void forgive_coarseness(std::vector<SquareMotion>& squares);

// With a camera held by hand, or frames that were aligned, all squares are displaced alike, by a
// part of a pixel. Where that explains only little of their difference, their mean is better than
// each of them, and those that moved with the others become kShaken. More counts as little where
// one layer alone doesn't tell the variance of the noise (`known` is far from what no displacement
// explains), and then still more between layers that aren't neighbours; more, too, for layers that
// differ little on average. Leaves and waves move differently, and what passes by moves further.
void forgive_shake(double known, Apart apart, std::vector<SquareMotion>& squares);

// Of at least one value; of an even number, the greater of the two in the middle.
double median(std::vector<double> values);

}  // namespace grainless
