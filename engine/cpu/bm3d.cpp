// SPDX-License-Identifier: MIT
#include <algorithm>

#include "bm3d_stage.h"
#include "engine/status.h"
#include "method.h"

namespace grainless {
namespace {

constexpr double kFirstStageShare = 0.4;  // of the time

bool filters_any(const Bm3dStage& stage, int32_t channels) {
  return std::any_of(stage.shrink, stage.shrink + channels, [](float s) { return s > 0; });
}

void copy_wanted(const Planes& from, Planes& to) {
  const Rect& rect = to.rect();
  for (int32_t c = 0; c < to.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      std::copy_n(from.at(c, rect.x, y), rect.width, to.at(c, rect.x, y));
    }
  }
}

}  // namespace

void run_bm3d(const MethodJob& job) {
  const Bm3dStage* stages = job.level->bm3d;
  const Rect& wanted = job.target->rect();
  if (wanted.empty()) return;
  if (!filters_any(stages[0], job.source->channels()) ||
      std::min(job.image_width, job.image_height) < std::max(stages[0].patch, stages[1].patch)) {
    copy_wanted(*job.source, *job.target);
    return;
  }
  Bm3dStageJob stage{};
  stage.image_width = job.image_width;
  stage.image_height = job.image_height;
  stage.noisy = job.source;
  stage.pool = job.pool;
  stage.callbacks = job.callbacks;
  stage.stage = &stages[0];
  if (job.level->stage_count == 1) {
    stage.wanted = wanted;
    stage.progress_to = 1;
    copy_wanted(run_bm3d_stage(stage), *job.target);
    return;
  }
  stage.wanted = bm3d_support(stages[1], wanted, job.image_width, job.image_height);
  stage.progress_to = kFirstStageShare;
  const Planes pilot = run_bm3d_stage(stage);
  stage.stage = &stages[1];
  stage.pilot = &pilot;
  stage.wanted = wanted;
  stage.progress_from = kFirstStageShare;
  stage.progress_to = 1;
  copy_wanted(run_bm3d_stage(stage), *job.target);
}

uint64_t bm3d_bytes(const LevelPlan& level, int32_t channels, int32_t width, int32_t height,
                    int32_t threads) {
  const Rect whole{0, 0, width, height};
  const uint64_t first =
      bm3d_stage_bytes(level.bm3d[0], channels, true, whole, width, height, threads);
  if (level.stage_count == 1) return first;
  const uint64_t pilot = Planes::bytes(channels, width, height);
  return std::max(first, pilot + bm3d_stage_bytes(level.bm3d[1], channels, false, whole, width,
                                                  height, threads));
}

}  // namespace grainless
