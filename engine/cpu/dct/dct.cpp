// SPDX-License-Identifier: MIT
#include "dct.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/cpu/frame/blocks.h"
#include "kernel.h"

namespace grainless {
namespace {

// The largest multiple of step that is not above x.
int32_t on_grid(int32_t x, int32_t step) {
  const int32_t over = x % step;
  return x - (over < 0 ? over + step : over);
}

// The patches that hold any pixel of a rectangle, and the pixels that they hold.
struct Patches {
  int32_t columns, rows;  // of patches
  Rect pixels;

  Patches(const Rect& rect, int32_t patch, int32_t step) {
    const int32_t left = on_grid(rect.x - patch + step, step);
    const int32_t top = on_grid(rect.y - patch + step, step);
    columns = (rect.right() - 1 - left) / step + 1;
    rows = (rect.bottom() - 1 - top) / step + 1;
    pixels = {left, top, (columns - 1) * step + patch, (rows - 1) * step + patch};
  }
};

// How many floats one thread's block takes; width and height are the results'.
struct ScratchSize {
  ptrdiff_t row;
  size_t plane, columns, patch_columns, total;

  ScratchSize(const DctPlan& plan, bool with_pilot, int32_t step, int32_t width, int32_t height) {
    const int32_t patch = plan.patch;
    const int32_t patches = (width + patch - 2) / step + 1, rows = (height + patch - 2) / step + 1;
    row = padded_row((patches + kDctLanes - 1) / kDctLanes * kDctLanes, 2 * kDctFront);
    plane = row * step * ((rows - 1) * step + patch);
    columns = row * step * patch;
    patch_columns = row * (patch * patch + 1);
    const size_t planes = with_pilot ? 2 : 1;
    total = (planes + 2) * plane + planes * columns + patch_columns;
  }
};

// One stage over a rectangle, which the target is; the pilot is the stage's before, if any.
struct StageJob {
  const MethodJob& job;
  const DctPlan& plan;
  const DctStage& stage;
  const Planes* pilot;
};

class Scratch {
 public:
  Scratch(const StageJob& job, int32_t width, int32_t height)
      : size_(job.plan, job.pilot != nullptr, job.stage.step, width, height),
        memory_(size_.total),
        tables_(job.plan) {
    std::fill_n(memory_.data(), memory_.size(), 0.0f);
    float* next = memory_.data();
    const auto take = [&next](size_t count) {
      next += count;
      return next - count;
    };
    block_.row = size_.row;
    block_.noisy = noisy_ = take(size_.plane);
    block_.removed = take(size_.plane);
    block_.weight = take(size_.plane);
    block_.noisy_columns = take(size_.columns);
    if (job.pilot != nullptr) {
      block_.pilot = pilot_ = take(size_.plane);
      block_.pilot_columns = take(size_.columns);
    }
    block_.patch_columns = take(size_.patch_columns);
  }

  void run(const StageJob& job, const Rect& rect) {
    const MethodJob& whole = job.job;
    const int32_t step = job.stage.step;
    throw_if_cancelled(*whole.callbacks);
    const Patches patches(rect, job.plan.patch, step);
    block_.patches = (patches.columns + kDctLanes - 1) / kDctLanes * kDctLanes;
    for (int32_t c = 0; c < whole.target->channels(); ++c) {
      if (!(job.stage.shrink[c] > 0)) continue;
      load(job, *whole.source, c, patches.pixels, noisy_);
      if (job.pilot != nullptr) load(job, *job.pilot, c, patches.pixels, pilot_);
      const size_t used = size_.row * step * patches.pixels.height;
      std::fill_n(block_.removed, used, 0.0f);
      std::fill_n(block_.weight, used, 0.0f);
      for (int32_t y = 0; y < patches.rows; ++y) {
        dct_add_row(tables_, block_, step, job.stage.shrink[c], y * step);
      }
      finish(job, c, patches.pixels, rect);
    }
  }

 private:
  // Splits the plane's rows, or their reflections, into the block's parts. What only patches beyond
  // the last one would read is some pixel or other.
  void load(const StageJob& job, const Planes& from, int32_t c, const Rect& pixels, float* to) {
    const int32_t step = job.stage.step, left = from.rect().x, last = from.rect().right() - 1;
    columns_.resize(size_.row * step);
    for (ptrdiff_t x = 0; x < size_.row * step; ++x) {
      const int32_t column = reflect(pixels.x + static_cast<int32_t>(x), job.job.image_width);
      columns_[x] = std::clamp(column, left, last) - left;
    }
    for (int32_t y = 0; y < pixels.height; ++y) {
      const float* row = from.at(c, left, reflect(pixels.y + y, job.job.image_height));
      for (int32_t r = 0; r < step; ++r, to += size_.row) {
        for (ptrdiff_t m = 0; m < size_.row; ++m) to[m] = row[columns_[m * step + r]];
      }
    }
  }

  void finish(const StageJob& job, int32_t c, const Rect& pixels, const Rect& rect) const {
    const int32_t step = job.stage.step;
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      const float* own = job.job.source->at(c, rect.x, y);
      float* target = job.job.target->at(c, rect.x, y);
      const ptrdiff_t row = (y - pixels.y) * step * size_.row;
      for (int32_t first = 0; first < std::min(step, rect.width); ++first) {
        const int32_t column = rect.x + first - pixels.x;
        ptrdiff_t at = row + column % step * size_.row + column / step;
        for (int32_t x = first; x < rect.width; x += step, ++at) {
          target[x] = own[x] - block_.removed[at] / block_.weight[at];
        }
      }
    }
  }

  ScratchSize size_;
  AlignedBuffer<float> memory_;
  DctTables tables_;
  DctBlock block_{};
  float *noisy_ = nullptr, *pilot_ = nullptr;
  std::vector<int32_t> columns_;
};

struct FilteredPlanes {
  int32_t first, count;
};

void run_stage(const StageJob& job) {
  std::vector<FilteredPlanes> filtered;
  for (int32_t c = 0; c < job.job.target->channels(); ++c) {
    if (job.stage.shrink[c] > 0) filtered.push_back({c, 1});
  }
  copy_unfiltered(job.job, filtered);
  if (filtered.empty() || job.job.target->rect().empty()) return job.job.callbacks->report(1.0);
  run_in_blocks(
      job.job,
      [&](int32_t width, int32_t height) { return std::make_unique<Scratch>(job, width, height); },
      [&](Scratch& scratch, const Rect& block) { scratch.run(job, block); });
}

}  // namespace

void run_dct(const MethodJob& job) {
  const DctPlan& plan = job.level->dct;
  const Rect image{0, 0, job.image_width, job.image_height};
  Planes before;
  for (int32_t s = 0; s < plan.stage_count; ++s) {
    const int32_t left = plan.stage_count - 1 - s;  // stages after this one
    Callbacks callbacks = *job.callbacks;
    callbacks.progress = [&job, s, &plan](double fraction) {
      job.callbacks->report((s + fraction) / plan.stage_count);
    };
    Planes estimate;
    MethodJob part = job;
    part.callbacks = &callbacks;
    if (left > 0) {
      const Rect wanted = intersect(expand(job.target->rect(), left * (plan.patch - 1)), image);
      estimate = Planes(job.target->channels(), wanted);
      part.target = &estimate;
    }
    run_stage({part, plan, plan.stage[s], s > 0 ? &before : nullptr});
    before = std::move(estimate);
  }
}

uint64_t dct_bytes(const LevelPlan& level, const LevelSize& size, int32_t threads) {
  const DctPlan& plan = level.dct;
  uint64_t most = 0;
  for (int32_t s = 0; s < plan.stage_count; ++s) {
    most = std::max(
        most, blocks_bytes(size.width, size.height, threads, [&](int32_t width, int32_t height) {
          return ScratchSize(plan, s > 0, plan.stage[s].step, width, height).total;
        }));
  }
  const uint64_t estimates = plan.stage_count > 1 ? 1 : 0;
  return most + estimates * Planes::bytes(size.channels, size.width, size.height);
}

}  // namespace grainless
