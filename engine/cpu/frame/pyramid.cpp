// SPDX-License-Identifier: MIT
#include "pyramid.h"

#include <algorithm>
#include <vector>

#include "engine/cpu/methods.h"
#include "method.h"

namespace grainless {
namespace {

// Calls body(channel, y) for every row of every channel of rect.
template <typename Body>
void for_rows(int32_t channels, const Rect& rect, ThreadPool& pool, const Body& body) {
  pool.parallel_for(channels * rect.height,
                    [&](int32_t i, int32_t) { body(i / rect.height, rect.y + i % rect.height); });
}

// Planes of a level, and its whole image.
struct LevelPlanes {
  const Planes& planes;
  const Rect& image;
};

// Where luma shows an edge, less of chroma's difference is taken (pyramid.h). `difference` is
// coarse - down(filtered).
void guide_chroma(const LevelPlanes& coarse, const Planes& difference, float guide, Planes& target,
                  ThreadPool& pool) {
  const auto& [result, image] = coarse;
  const Rect &rect = target.rect(), &all = result.rect();
  for_rows(1, rect, pool, [&](int32_t, int32_t y) {
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      float luma[kGuideSide * kGuideSide];
      for (int32_t j = 0; j < kGuideSide; ++j) {
        const int32_t row = std::clamp(y + j - kGuideReach, 0, image.height - 1);
        const float *value = result.at(0, all.x, row), *change = difference.at(0, all.x, row);
        for (int32_t i = 0; i < kGuideSide; ++i) {
          const int32_t at = std::clamp(x + i - kGuideReach, 0, image.width - 1) - all.x;
          luma[j * kGuideSide + i] = value[at] - change[at];
        }
      }
      const float share = chroma_share(luma, guide);
      for (int32_t c = 1; c < result.channels(); ++c) {
        *target.at(c, x, y) = share * *difference.at(c, x, y);
      }
    }
  });
}

// What the coarser result says otherwise than the finer one: coarse - down(fine), smoothed;
// guided, if guide is not 0. The plane covers `rect`; pixels beyond the image repeat its border.
Planes correction(const LevelPlanes& coarse, const LevelPlanes& fine, const Rect& rect, float guide,
                  ThreadPool& pool) {
  const auto& [result, image] = coarse;
  Planes difference(result.channels(), result.rect());
  halve(fine.planes, fine.image, difference, pool);
  Planes smoothed(result.channels(), rect);
  const Rect& all = result.rect();
  for_rows(result.channels(), all, pool, [&](int32_t c, int32_t y) {
    const float* value = result.at(c, all.x, y);
    float* out = difference.at(c, all.x, y);
    for (int32_t x = 0; x < all.width; ++x) out[x] = value[x] - out[x];
  });
  for_rows(guide > 0 ? 1 : result.channels(), rect, pool, [&](int32_t c, int32_t y) {
    const float* rows[3] = {difference.at(c, all.x, std::max(y - 1, 0)) - all.x,
                            difference.at(c, all.x, y) - all.x,
                            difference.at(c, all.x, std::min(y + 1, image.height - 1)) - all.x};
    const auto column = [&rows](int32_t x) {
      return smooth_three(rows[0][x], rows[1][x], rows[2][x]);
    };
    float* out = smoothed.at(c, rect.x, y) - rect.x;
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      out[x] = smooth_three(column(std::max(x - 1, 0)), column(x),
                            column(std::min(x + 1, image.width - 1)));
    }
  });
  if (guide > 0) guide_chroma(coarse, difference, guide, smoothed, pool);
  return smoothed;
}

// target = filtered + up(smoothed); coarse_image: the size of the smoothed level.
void add_upsampled(const Planes& smoothed, const Rect& coarse_image, const Planes& filtered,
                   Planes& target, ThreadPool& pool) {
  const Rect& rect = target.rect();
  const auto neighbour = [](int32_t i, int32_t size) {  // the second nearest coarse pixel
    return std::clamp((i >> 1) + ((i & 1) != 0 ? 1 : -1), 0, size - 1);
  };
  for_rows(target.channels(), rect, pool, [&](int32_t c, int32_t y) {
    const int32_t left = smoothed.rect().x;
    const float* near = smoothed.at(c, left, y >> 1) - left;
    const float* far = smoothed.at(c, left, neighbour(y, coarse_image.height)) - left;
    const float* fine = filtered.at(c, rect.x, y) - rect.x;
    float* out = target.at(c, rect.x, y) - rect.x;
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      const int32_t here = x >> 1, beside = neighbour(x, coarse_image.width);
      out[x] =
          fine[x] + between(between(near[here], far[here]), between(near[beside], far[beside]));
    }
  });
}

Callbacks part_of(const Callbacks& callbacks, int32_t level, int32_t count) {
  const LevelTime part = level_time(level, count);
  return {callbacks.cancel, [&callbacks, part](double fraction) {
            callbacks.report(part.before + part.own * fraction);
          }};
}

}  // namespace

void halve(const Planes& fine, const Rect& fine_image, Planes& coarse, ThreadPool& pool) {
  const Rect& rect = coarse.rect();
  for_rows(coarse.channels(), rect, pool, [&](int32_t c, int32_t y) {
    const int32_t below = std::min(2 * y + 1, fine_image.height - 1);
    const float* row = fine.at(c, fine.rect().x, 2 * y) - fine.rect().x;
    const float* next = fine.at(c, fine.rect().x, below) - fine.rect().x;
    float* out = coarse.at(c, rect.x, y) - rect.x;
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      const int32_t right = std::min(2 * x + 1, fine_image.width - 1);
      out[x] = mean_of_four(row[2 * x], row[right], next[2 * x], next[right]);
    }
  });
}

Rect levels_source(const Plan& plan, int32_t width, int32_t height, const Rect& out) {
  PyramidLevel level[kMaxLevels];
  plan_pyramid(plan, pyramid_levels(plan, width, height), width, height, out, level);
  return level[0].held;
}

void run_levels(const Plan& plan, const MethodJob& job) {
  const CpuMethod& method = cpu_method(plan.method);
  const int32_t count = pyramid_levels(plan, job.image_width, job.image_height);
  MethodJob level_job = job;
  if (count == 1) {
    level_job.level = &plan.level[0];
    return method.run(level_job);
  }
  const Planes& source = *job.source;
  Planes& target = *job.target;
  ThreadPool& pool = *job.pool;
  PyramidLevel level[kMaxLevels];
  plan_pyramid(plan, count, job.image_width, job.image_height, target.rect(), level);
  std::vector<Planes> held(count);  // of levels 1 and up
  for (int32_t l = 1; l < count; ++l) {
    held[l] = Planes(plan.channels, level[l].held);
    halve(l == 1 ? source : held[l - 1], level[l - 1].image, held[l], pool);
  }
  Planes coarser;
  for (int32_t l = count - 1; l >= 0; --l) {
    const Callbacks part = part_of(*job.callbacks, l, count);
    Planes filtered(plan.channels, level[l].filtered);
    method.run({&plan.level[l], level[l].image.width, level[l].image.height,
                l == 0 ? &source : &held[l], &filtered, &pool, &part});
    held[l] = {};
    if (l == count - 1) {
      coarser = std::move(filtered);
      continue;
    }
    const Planes smoothed =
        correction({coarser, level[l + 1].image}, {filtered, level[l].image},
                   correction_rect(level[l], level[l + 1]), plan.level[l + 1].guide, pool);
    Planes result(l == 0 ? Planes() : Planes(plan.channels, level[l].result));
    add_upsampled(smoothed, level[l + 1].image, filtered, l == 0 ? target : result, pool);
    coarser = std::move(result);
  }
}

uint64_t levels_bytes(const Plan& plan, int32_t width, int32_t height, int32_t threads) {
  const CpuMethod& method = cpu_method(plan.method);
  uint64_t most = 0, planes = 0;
  for (int32_t l = 0; l < plan.level_count; ++l) {
    const int32_t w = level_size(width, l), h = level_size(height, l);
    most = std::max(most, method.bytes(plan.level[l], {plan.channels, w, h}, threads));
    // Unfiltered, filtered and result, of which level 0 has the first and last already.
    if (plan.level_count > 1) planes += (l == 0 ? 1 : 4) * Planes::bytes(plan.channels, w, h);
  }
  return most + planes;
}

}  // namespace grainless
