// SPDX-License-Identifier: MIT
// The pyramid for noise that is not white, as every backend builds it. Level l + 1 is the mean of
// 2 x 2 pixels of level l, at absolute even positions, so white noise stays white and halves. Every
// level is denoised; then, from the coarsest up, the low frequencies of the finer result are
// replaced by those of the coarser one:
//     result(l) = filtered(l) + up(smooth(result(l + 1) - down(filtered(l))))
// with up bilinear and smooth = [1 2 1] / 4 along both axes, which keeps only those frequencies
// that the coarser level shows unharmed (the conservative recomposition of Facciolo, Pierazzo and
// Morel 2017, made local: theirs cuts the DCT of the whole image).
#pragma once

#include <algorithm>
#include <cstdint>

#include "pixel_math.h"
#include "plan.h"
#include "rect.h"

namespace grainless {

// Of one level, in its own pixels. filtered is what the method must make, from source; all of
// `held` is needed of the level's unfiltered pixels, for source and for the levels below.
struct PyramidLevel {
  Rect image, result, filtered, source, held;
};

constexpr int32_t level_size(int32_t size, int32_t level) {
  return (size + (1 << level) - 1) >> level;
}

// How many of the plan's levels an image of that size has: all but those smaller than a patch.
int32_t pyramid_levels(const Plan& plan, int32_t width, int32_t height);

// Fills level[0..count - 1] for the result over `out`.
void plan_pyramid(const Plan& plan, int32_t count, int32_t width, int32_t height, const Rect& out,
                  PyramidLevel* level);

// How far the pixels that a result depends on lie from it, given the methods' own reach a level.
int32_t pyramid_reach(const LevelPlan* level, int32_t count);

// down: the mean of four neighbours (beyond an odd border: of the border's pixels repeated).
GRAINLESS_HD float mean_of_four(float a, float b, float c, float d) {
  return ((a + b) + (c + d)) * 0.25f;
}

// smooth and up along one axis.
GRAINLESS_HD float smooth_three(float before, float here, float after) {
  return (before + after) * 0.25f + here * 0.5f;
}
GRAINLESS_HD float between(float nearer, float farther) {
  return nearer * 0.75f + farther * 0.25f;
}

}  // namespace grainless
