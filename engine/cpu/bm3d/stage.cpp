// SPDX-License-Identifier: MIT
// Place and threads do not matter: a group's estimates depend on nothing but its pixels, and sums
// of integers not on their order. References are taken in square cells whose grid is fixed to the
// image; cells whose patches can meet are never computed at the same time, but in four turns, even
// and odd rows and columns of cells. A reference that reaches no wanted pixel is left out.
#include "stage.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "bands.h"
#include "dft.h"
#include "engine/boundary/status.h"
#include "engine/progress.h"
#include "filter.h"
#include "match.h"

namespace grainless {
namespace {

constexpr int32_t kSmallestCell = 64;  // pixels a side

int32_t reach_of(const Bm3dStage& stage) {
  return stage.radius + stage.patch - 1;
}

// Patches of a cell's groups reach `radius` before the cell and reach_of beyond its last reference:
// with this side, or a larger one, cells two apart never meet.
int32_t cell_side(const Bm3dStage& stage) {
  return std::max(kSmallestCell, stage.radius + reach_of(stage));
}

Rect clip(const Rect& rect, int32_t width, int32_t height) {
  return intersect(rect, {0, 0, width, height});
}

// Positions of references along one axis in from..to: multiples of step, and the last position.
std::vector<int32_t> positions(int32_t from, int32_t to, int32_t step, int32_t last) {
  std::vector<int32_t> result;
  from = std::max(from, 0);
  to = std::min(to, last);
  for (int32_t p = (from + step - 1) / step * step; p <= to; p += step) result.push_back(p);
  if (last % step != 0 && from <= last && last <= to) result.push_back(last);
  return result;
}

void over_bands(const Bm3dStageJob& job, int32_t y0, int32_t y1,
                const std::function<void(int32_t, int32_t)>& body) {
  grainless::over_bands(*job.pool, *job.callbacks, y0, y1, body);
}

Aggregate make_aggregate(const Bm3dStageJob& job) {
  const Rect rect =
      clip(expand(job.wanted, job.stage->patch - 1), job.image_width, job.image_height);
  return Aggregate(job.wanted, rect, job.noisy->channels(), job.pilot == nullptr);
}

MatchPlane make_match_plane(const Bm3dStageJob& job) {
  const Planes& source = job.matched_on != nullptr ? *job.matched_on : *job.noisy;
  const Planes& pilot = job.pilot != nullptr ? *job.pilot : *job.noisy;
  const Rect rect = bm3d_support(*job.stage, job.wanted, job.image_width, job.image_height);
  if (!source.rect().contains(rect) || !pilot.rect().contains(rect) ||
      !job.noisy->rect().contains(rect)) {
    throw Error(ErrorCode::kInternal, "BM3D was given too few pixels");
  }
  MatchPlane plane(rect, *job.stage);
  over_bands(job, rect.y, rect.bottom(),
             [&](int32_t y0, int32_t y1) { plane.fill_pairs(source, y0, y1); });
  over_bands(job, rect.y, rect.bottom(),
             [&](int32_t y0, int32_t y1) { plane.fill_energies(y0, y1); });
  return plane;
}

bool in_fourier_basis(const Bm3dStage& stage) {
  return stage.transform == static_cast<int32_t>(Transform::kDft);
}

struct Worker {
  Worker(const Bm3dStage& stage, int32_t columns)
      : matcher(stage, columns), groups(columns), scratch(1) {
    if (in_fourier_basis(stage)) dft = std::make_unique<DftFilter>(stage);
  }

  Matcher matcher;
  std::vector<PatchGroup> groups;
  AlignedBuffer<FilterScratch> scratch;
  std::unique_ptr<DftFilter> dft;
};

uint64_t worker_bytes(const Bm3dStage& stage) {
  const int32_t columns = cell_side(stage) + stage.patch;
  return Matcher::bytes(stage, columns) + columns * sizeof(PatchGroup) + sizeof(FilterScratch) +
         (in_fourier_basis(stage) ? DftFilter::bytes(stage) : 0);
}

class StageRun {
 public:
  explicit StageRun(const Bm3dStageJob& job)
      : job_(job),
        stage_(*job.stage),
        tables_(stage_),
        plane_(make_match_plane(job)),
        aggregate_(make_aggregate(job)) {
    for (int32_t i = 0; i < job.pool->size(); ++i) {
      workers_.emplace_back(stage_, cell_side(stage_) + stage_.patch);
    }
  }

  Planes run() {
    clear();
    // References whose groups may reach a wanted pixel.
    const Rect& wanted = job_.wanted;
    needed_ = {wanted.x - reach_of(stage_), wanted.y - reach_of(stage_),
               wanted.width + reach_of(stage_) + stage_.radius,
               wanted.height + reach_of(stage_) + stage_.radius};
    needed_ = intersect(
        needed_, {0, 0, job_.image_width - stage_.patch + 1, job_.image_height - stage_.patch + 1});
    const int32_t side = cell_side(stage_);
    first_column_ = needed_.x / side;
    first_row_ = needed_.y / side;
    columns_ = (needed_.right() - 1) / side - first_column_ + 1;
    rows_ = (needed_.bottom() - 1) / side - first_row_ + 1;
    for (int32_t turn = 0; turn < 4; ++turn) run_turn(turn / 2, turn % 2);
    return estimate();
  }

 private:
  void clear() {
    const int32_t border = stage_.patch - 1, y0 = std::max(job_.wanted.y - border, 0);
    const int32_t y1 = std::min(job_.wanted.bottom() + border, job_.image_height);
    over_bands(job_, y0, y1, [&](int32_t from, int32_t to) {
      for (int32_t c = 0; c < job_.noisy->channels(); ++c) aggregate_.clear(c, from, to);
    });
  }

  // The cells whose absolute row and column numbers have these parities.
  void run_turn(int32_t row_parity, int32_t column_parity) {
    const int32_t row = first_row_ + ((first_row_ + row_parity) & 1);
    const int32_t column = first_column_ + ((first_column_ + column_parity) & 1);
    const int32_t across = (first_column_ + columns_ - column + 1) / 2;
    const int32_t down = (first_row_ + rows_ - row + 1) / 2;
    job_.pool->parallel_for(across * down, [&](int32_t i, int32_t slot) {
      run_cell(column + i % across * 2, row + i / across * 2, workers_[slot]);
      report();
    });
  }

  void run_cell(int32_t column, int32_t row, Worker& worker) {
    const int32_t side = cell_side(stage_);
    const Rect cell = intersect(needed_, {column * side, row * side, side, side});
    const std::vector<int32_t> xs =
        positions(cell.x, cell.right() - 1, stage_.step, job_.image_width - stage_.patch);
    const std::vector<int32_t> ys =
        positions(cell.y, cell.bottom() - 1, stage_.step, job_.image_height - stage_.patch);
    if (xs.empty()) return;
    for (int32_t y : ys) {
      worker.matcher.find(plane_, job_.image_height, xs, y, worker.groups.data());
      for (size_t i = 0; i < xs.size(); ++i) {
        throw_if_cancelled(*job_.callbacks);
        filter(worker.groups[i], worker);
      }
    }
  }

  void filter(const PatchGroup& group, Worker& worker) {
    bool reaches = false;
    for (int32_t i = 0; i < group.count && !reaches; ++i) {
      reaches = aggregate_.takes(group.x[i], group.y[i], stage_.patch);
    }
    if (!reaches) return;
    const GroupFilter filter{&stage_,    &tables_,    job_.noisy,           job_.pilot,
                             job_.share, &aggregate_, worker.scratch.data()};
    const auto by_rule =
        stage_.rule == static_cast<int32_t>(GroupRule::kRidge) ? ridge_group : filter_group;
    for (int32_t c = 0; c < job_.noisy->channels(); ++c) {
      if (!(stage_.shrink[c] > 0)) continue;
      if (worker.dft != nullptr) {
        worker.dft->run(filter, group, c);
      } else {
        by_rule(filter, group, c);
      }
    }
  }

  // Estimates from sums; channels that are not filtered are copied.
  Planes estimate() const {
    const Rect& wanted = job_.wanted;
    const Planes& before = job_.pilot != nullptr ? *job_.pilot : *job_.noisy;
    Planes result(job_.noisy->channels(), wanted);
    over_bands(job_, wanted.y, wanted.bottom(), [&](int32_t y0, int32_t y1) {
      for (int32_t c = 0; c < job_.noisy->channels(); ++c) {
        if (stage_.shrink[c] > 0) {
          aggregate_.estimate(tables_, *job_.noisy, c, y0, y1, result);
          continue;
        }
        for (int32_t y = y0; y < y1; ++y) {
          std::copy_n(before.at(c, wanted.x, y), wanted.width, result.at(c, wanted.x, y));
        }
      }
    });
    return result;
  }

  void report() {
    std::lock_guard lock(progress_);
    ++cells_done_;
    job_.callbacks->report(job_.progress_from + (job_.progress_to - job_.progress_from) *
                                                    cells_done_ / (1.0 * rows_ * columns_));
  }

  const Bm3dStageJob& job_;
  const Bm3dStage& stage_;
  FilterTables tables_;
  MatchPlane plane_;
  Aggregate aggregate_;
  std::vector<Worker> workers_;
  Rect needed_;
  int32_t first_column_ = 0, first_row_ = 0, columns_ = 0, rows_ = 0;
  std::mutex progress_;
  int32_t cells_done_ = 0;
};

}  // namespace

Rect bm3d_support(const Bm3dStage& stage, const Rect& wanted, int32_t width, int32_t height) {
  return clip(expand(wanted, stage.support()), width, height);
}

Planes run_bm3d_stage(const Bm3dStageJob& job) {
  return StageRun(job).run();
}

uint64_t bm3d_stage_bytes(const Bm3dStage& stage, bool first_stage, const LevelSize& size,
                          int32_t threads) {
  const Rect whole{0, 0, size.width, size.height};
  return Aggregate::bytes(size.channels, whole, first_stage) +
         Planes::bytes(size.channels, size.width, size.height) + MatchPlane::bytes(whole, stage) +
         threads * worker_bytes(stage);
}

}  // namespace grainless
