// SPDX-License-Identifier: MIT
#include "pyramid.h"

namespace grainless {
namespace {

constexpr int32_t kSmallestSide = 8;  // a level of less holds nothing worth denoising
constexpr int32_t kReach = 2;         // of up and smooth together, in pixels of the coarser level

Rect halved(const Rect& r) {
  const int32_t x = r.x >> 1, y = r.y >> 1;
  return {x, y, ((r.right() - 1) >> 1) + 1 - x, ((r.bottom() - 1) >> 1) + 1 - y};
}

Rect doubled(const Rect& r) {
  return {2 * r.x, 2 * r.y, 2 * r.width, 2 * r.height};
}

Rect bounds(const Rect& a, const Rect& b) {
  const int32_t x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.right(), b.right()) - x, std::max(a.bottom(), b.bottom()) - y};
}

}  // namespace

int32_t pyramid_levels(const Plan& plan, int32_t width, int32_t height) {
  const int32_t smallest = std::max(plan.smallest, kSmallestSide);
  int32_t count = 1;
  while (count < plan.level_count &&
         std::min(level_size(width, count), level_size(height, count)) >= smallest) {
    ++count;
  }
  return count;
}

void plan_pyramid(const Plan& plan, int32_t count, int32_t width, int32_t height, const Rect& out,
                  PyramidLevel* level) {
  for (int32_t l = 0; l < count; ++l) {
    level[l].image = {0, 0, level_size(width, l), level_size(height, l)};
    level[l].result =
        l == 0 ? out : intersect(expand(halved(level[l - 1].result), kReach), level[l].image);
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

int32_t pyramid_reach(const LevelPlan* level, int32_t count) {
  int32_t reach = 0, result = 0;  // result: of the result's rectangle at level l
  for (int32_t l = 0; l < count; ++l) {
    const int32_t coarser = (result + 1) / 2 + kReach;
    const int32_t filtered = l == count - 1 ? result : 2 * coarser + 1;
    // Pixel i of level l spans i * 2^l .. i * 2^l + 2^l - 1.
    reach = std::max(reach, ((filtered + level[l].reach + 1) << l) - 1);
    result = coarser;
  }
  return reach;
}

}  // namespace grainless
