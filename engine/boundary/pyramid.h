// SPDX-License-Identifier: MIT
// The pyramid for noise that is not white, as every backend builds it. Level l + 1 is the mean of
// 2 x 2 pixels of level l, at absolute even positions, so white noise stays white and halves. Every
// level is denoised; then, from the coarsest up, the low frequencies of the finer result are
// replaced by those of the coarser one:
//     result(l) = filtered(l) + up(smooth(result(l + 1) - down(filtered(l))))
// with up bilinear and smooth = [1 2 1] / 4 along both axes, which keeps only those frequencies
// that the coarser level shows unharmed (the conservative recomposition of Facciolo, Pierazzo and
// Morel 2017, made local: theirs cuts the DCT of the whole image).
//
// A camera's chroma noise asks for such strength that small colours don't live through it at a
// coarse level. Its chroma is therefore guided by luma, in the manner of joint (cross-bilateral,
// guided) filters: where the finer level's luma has an edge, its own colour stays,
//     correction = share * (result(l + 1) - down(filtered(l))),
//     share = 1 / (1 + (E sigma^2 / kGuide^2)^4)
// with E the energy of luma about its local mean and sigma the chroma noise that the coarser level
// was denoised with: weaker noise does no such harm. Nothing is smoothed there: blotches are what
// is to go, and colour has no fine detail without luma. White noise leaves plan.guide 0.
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

// A level of less holds nothing worth denoising.
inline constexpr int32_t kSmallestLevel = 8;
// Luma round a pixel that guides its chroma.
inline constexpr int32_t kGuideReach = 2, kGuideSide = 2 * kGuideReach + 1;
// Of up and smooth or the guide together, in pixels of the coarser level.
inline constexpr int32_t kPyramidReach = 1 + kGuideReach;

// The pixels of the next level that hold any of r.
inline Rect halved(const Rect& r) {
  const int32_t x = r.x >> 1, y = r.y >> 1;
  return {x, y, ((r.right() - 1) >> 1) + 1 - x, ((r.bottom() - 1) >> 1) + 1 - y};
}

inline Rect doubled(const Rect& r) {
  return {2 * r.x, 2 * r.y, 2 * r.width, 2 * r.height};
}

// How many of the plan's levels an image of that size has: all but those smaller than a patch.
inline int32_t pyramid_levels(const Plan& plan, int32_t width, int32_t height) {
  const int32_t smallest = std::max(plan.smallest, kSmallestLevel);
  int32_t count = 1;
  while (count < plan.level_count &&
         std::min(level_size(width, count), level_size(height, count)) >= smallest) {
    ++count;
  }
  return count;
}

// Fills level[0..count - 1] for the result over `out`.
inline void plan_pyramid(const Plan& plan, int32_t count, int32_t width, int32_t height,
                         const Rect& out, PyramidLevel* level) {
  for (int32_t l = 0; l < count; ++l) {
    level[l].image = {0, 0, level_size(width, l), level_size(height, l)};
    level[l].result =
        l == 0 ? out
               : intersect(expand(halved(level[l - 1].result), kPyramidReach), level[l].image);
  }
  for (int32_t l = count - 1; l >= 0; --l) {
    const bool last = l == count - 1;
    level[l].filtered =
        last ? level[l].result : intersect(doubled(level[l + 1].result), level[l].image);
    level[l].source = intersect(expand(level[l].filtered, plan.level[l].reach), level[l].image);
    level[l].held =
        last ? level[l].source
             : bounds(level[l].source, intersect(doubled(level[l + 1].held), level[l].image));
  }
}

// How far the pixels that a result depends on lie from it, given the methods' own reach a level.
inline int32_t pyramid_reach(const LevelPlan* level, int32_t count) {
  int32_t reach = 0, result = 0;  // result: of the result's rectangle at level l
  for (int32_t l = 0; l < count; ++l) {
    const int32_t coarser = (result + 1) / 2 + kPyramidReach;
    const int32_t filtered = l == count - 1 ? result : 2 * coarser + 1;
    // Pixel i of level l spans i * 2^l .. i * 2^l + 2^l - 1.
    reach = std::max(reach, ((filtered + level[l].reach + 1) << l) - 1);
    result = coarser;
  }
  return reach;
}

// The pixels of the coarser level whose smoothed correction `up` asks for.
inline Rect correction_rect(const PyramidLevel& fine, const PyramidLevel& coarse) {
  return intersect(expand(halved(fine.result), 1), coarse.image);
}

// The share of a level in the time of all, and of those before it (coarser ones come first): a
// level takes a quarter of the finer one's time.
struct LevelTime {
  double before, own;
};

inline LevelTime level_time(int32_t level, int32_t count) {
  double before = 0, all = 0;
  for (int32_t l = count - 1; l >= 0; --l) {
    const double cost = 1.0 / (1 << (2 * l));
    if (l > level) before += cost;
    all += cost;
  }
  return {before / all, 1.0 / (1 << (2 * level)) / all};
}

// down: the mean of four neighbours (beyond an odd border: of the border's pixels repeated).
GRAINLESS_HD float mean_of_four(float a, float b, float c, float d) {
  return ((a + b) + (c + d)) * 0.25f;
}

// The share of a coarse chroma difference that luma lets pass; luma: kGuideSide^2 pixels of it, row
// by row, guide: LevelPlan::guide.
GRAINLESS_HD float chroma_share(const float* luma, float guide) {
  float energy = 0.0f;
  for (int32_t y = 1; y < kGuideSide - 1; ++y) {
    for (int32_t x = 1; x < kGuideSide - 1; ++x) {
      const float* at = luma + y * kGuideSide + x;
      const float above = at[-kGuideSide - 1] + at[-kGuideSide] + at[-kGuideSide + 1];
      const float below = at[kGuideSide - 1] + at[kGuideSide] + at[kGuideSide + 1];
      const float own = at[0] - ((at[-1] + at[0] + at[1]) + (above + below)) * (1.0f / 9.0f);
      energy += own * own;
    }
  }
  const float edge = energy * guide, square = edge * edge;
  return 1.0f / (1.0f + square * square);
}

// smooth and up along one axis.
GRAINLESS_HD float smooth_three(float before, float here, float after) {
  return (before + after) * 0.25f + here * 0.5f;
}
GRAINLESS_HD float between(float nearer, float farther) {
  return nearer * 0.75f + farther * 0.25f;
}

}  // namespace grainless
