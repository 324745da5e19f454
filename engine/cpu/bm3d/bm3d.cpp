// SPDX-License-Identifier: MIT
#include "bm3d.h"

#include <algorithm>
#include <utility>

#include "engine/boundary/status.h"
#include "noise_left.h"
#include "post_filter.h"
#include "stage.h"

namespace grainless {
namespace {

// Stages have their own patch sizes, but an image smaller than any of them comes back unchanged.
int32_t largest_patch(const LevelPlan& level) {
  int32_t largest = 0;
  for (int32_t s = 0; s < level.stage_count; ++s) {
    largest = std::max(largest, level.bm3d[s].patch);
  }
  return largest;
}

// A stage's part of the time: as many units as it has references, about.
double cost_of(const Bm3dStage& stage) {
  return (stage.rule == static_cast<int32_t>(GroupRule::kHardThreshold) ? 1.0 : 1.5) /
         (stage.step * stage.step);
}

bool filters_any(const Bm3dStage& stage, int32_t channels) {
  return std::any_of(stage.shrink, stage.shrink + channels, [](float s) { return s > 0; });
}

// Channels from `first` on.
void copy_wanted(const Planes& from, Planes& to, int32_t first = 0) {
  const Rect& rect = to.rect();
  for (int32_t c = first; c < to.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      std::copy_n(from.at(c, rect.x, y), rect.width, to.at(c, rect.x, y));
    }
  }
}

// Of the time of high's stages, on a processor.
constexpr double kPostFilterCost = 0.04;

// What the last stage has to estimate.
Rect estimated(const MethodJob& job) {
  const Rect& target = job.target->rect();
  if (!(job.level->post_filter > 0)) return target;
  return intersect(expand(target, kPostFilterReach), {0, 0, job.image_width, job.image_height});
}

// From the last stage's estimate to the target.
void finish(const MethodJob& job, const Planes& estimate) {
  const float sigma = job.level->post_filter;
  if (!(sigma > 0)) return copy_wanted(estimate, *job.target);
  copy_wanted(estimate, *job.target, 1);
  run_post_filter({job.source, &estimate, job.target, job.image_width, job.image_height, sigma,
                   job.pool, job.callbacks});
}

}  // namespace

void run_bm3d(const MethodJob& job) {
  const LevelPlan& level = *job.level;
  const Rect& target = job.target->rect();
  if (target.empty()) return;
  if (!filters_any(level.bm3d[0], job.source->channels()) ||
      std::min(job.image_width, job.image_height) < largest_patch(level)) {
    copy_wanted(*job.source, *job.target);
    return;
  }
  Rect wanted[kMaxBm3dStages];
  double all = 0;
  for (int32_t s = level.stage_count - 1; s >= 0; --s) {
    wanted[s] = s == level.stage_count - 1 ? estimated(job)
                                           : bm3d_support(level.bm3d[s + 1], wanted[s + 1],
                                                          job.image_width, job.image_height);
    all += cost_of(level.bm3d[s]);
  }
  if (level.post_filter > 0) all *= 1 + kPostFilterCost;
  Bm3dStageJob stage{};
  stage.image_width = job.image_width;
  stage.image_height = job.image_height;
  stage.pool = job.pool;
  stage.callbacks = job.callbacks;
  NoiseLeft left(*job.source, *job.pool, *job.callbacks);
  Planes estimate[kMaxBm3dStages];
  for (int32_t s = 0; s < level.stage_count; ++s) {
    stage.stage = &level.bm3d[s];
    const int32_t matched = level.matched_on(s), pilot = level.pilot_of(s);
    if (level.bm3d[s].share < 1) left.leave(estimate[pilot], level.bm3d[s]);
    stage.noisy = &left.picture();
    stage.share = left.share();
    stage.matched_on = matched >= 0 ? &estimate[matched] : nullptr;
    stage.pilot = pilot >= 0 ? &estimate[pilot] : nullptr;
    stage.wanted = wanted[s];
    stage.progress_from = stage.progress_to;
    stage.progress_to = stage.progress_from + cost_of(level.bm3d[s]) / all;
    estimate[s] = run_bm3d_stage(stage);
    if (pilot >= 0 && pilot != matched) estimate[pilot] = Planes();
  }
  finish(job, estimate[level.stage_count - 1]);
}

uint64_t bm3d_bytes(const LevelPlan& level, const LevelSize& size, int32_t threads) {
  const auto [channels, width, height] = size;
  uint64_t most = 0;
  for (int32_t s = 0; s < level.stage_count; ++s) {
    const int32_t left = level.bm3d[s].share < 1 ? 2 : 0;
    const uint64_t before = (std::min(s, 2) + left) * Planes::bytes(channels, width, height);
    most = std::max(most,
                    before + bm3d_stage_bytes(level.bm3d[s], !level.has_pilot(s), size, threads));
  }
  if (!(level.post_filter > 0)) return most;
  return most + Planes::bytes(channels, width, height) + post_filter_bytes(threads);
}

}  // namespace grainless
