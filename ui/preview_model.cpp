// SPDX-License-Identifier: MIT
#include "preview_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace grainless::ui {
namespace {

// Seconds a pixel before anything was measured: two cores of 2020 or so.
constexpr double kExactGuess = 2e-6, kCoarseGuess = 1e-6;
// So quick a device stays quick when the method changes.
constexpr double kQuick = 5e-8, kQuickMargin = 4;
// A job costs something however small it is.
constexpr double kSmallestArea = 128.0 * 128.0;
constexpr int32_t kSmallestReduced = 64;  // side of an image that still holds enough patches
constexpr int64_t kLargestJob = int64_t{1} << 24;  // pixels, however quick the device is
// Parts of fewer halos would take several times what all of them take at once.
constexpr double kPartHalos = 2;
constexpr size_t kSpareCells = 256;  // kept beyond what shows
constexpr size_t kKeptLayers = 8;    // of a stack, besides the one that shows

// The parameters that decide what a pixel costs.
Params cost_of(Params params) {
  const Params defaults;
  params.auto_sigma = defaults.auto_sigma;
  params.sigma = defaults.sigma;
  params.strength = defaults.strength;
  params.luma = defaults.luma;
  params.chroma = defaults.chroma;
  params.shadows = defaults.shadows;
  params.highlights = defaults.highlights;
  params.detail = defaults.detail;
  return params;
}

// Pixels that are computed for a part: stage after stage needs less of its halo, on average half.
double area_of(const Rect& rect, int32_t halo = 0) {
  return std::max(kSmallestArea, double(rect.width + halo) * (rect.height + halo));
}

}  // namespace

PreviewModel::PreviewModel(int32_t image_width, int32_t image_height)
    : image_width_(image_width),
      image_height_(image_height),
      view_(image_width, image_height),
      coarse_rate_(kCoarseGuess) {}

void PreviewModel::look(const Viewport& view, int64_t now) {
  if (view == view_) return;
  view_ = view;
  const Rect visible = view_.visible();
  const Rect cells = cells_of(visible);
  if (picture_.size() > size_t(cells.area()) * 2 + kSpareCells) {
    picture_.trim(pixels_of(cells));
  }
  changed(now);
}

void PreviewModel::set_params(const Params& params, int64_t now) {
  if (params_ && *params_ == params) return;
  params_ = params;
  invalidate(now);
}

// A result of another layer is never shown, not even for a moment.
void PreviewModel::set_layer(int32_t layer, int64_t now) {
  if (layer == layer_) return;
  if (!coarse_ && !picture_.empty()) kept_.push_back({layer_, std::move(picture_), info_});
  if (kept_.size() > kKeptLayers) kept_.erase(kept_.begin());
  picture_.clear();
  layer_ = layer;
  coarse_ = false;
  error_.clear();
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [layer](const Kept& kept) { return kept.layer == layer; });
  if (found != kept_.end()) {
    picture_ = std::move(found->picture);
    info_ = std::move(found->info);
    info_layer_ = layer;
    kept_.erase(found);
  }
  changed(now);
}

void PreviewModel::set_image(int32_t width, int32_t height, int64_t now) {
  image_width_ = width;
  image_height_ = height;
  view_.set_image(width, height);
  picture_.clear();
  coarse_ = false;
  info_.reset();
  error_.clear();
  invalidate(now);
  oldest_ = settings_;
}

void PreviewModel::invalidate(int64_t now) {
  ++settings_;
  kept_.clear();
  changed(now);
}

void PreviewModel::changed(int64_t now) {
  if (!waiting_) first_change_ = now;
  waiting_ = true;
  last_change_ = now;
  failed_ = false;
  exact_sum_ = 0;
}

bool PreviewModel::knows_cost() const {
  return exact_cost_ && *exact_cost_ == cost_of(*params_);
}

double PreviewModel::exact_rate() const {
  if (knows_cost()) return exact_rate_;
  return exact_cost_ && exact_rate_ < kQuick ? exact_rate_ * kQuickMargin : kExactGuess;
}

int32_t PreviewModel::exact_halo() const {
  return knows_cost() ? exact_halo_ : 0;
}

double PreviewModel::exact_seconds(const Rect& rect) const {
  return exact_rate() * area_of(rect, exact_halo());
}

std::optional<PreviewModel::Planned> PreviewModel::plan() const {
  const Rect visible = view_.visible();
  if (!params_ || visible.empty() || running_ || failed_) return std::nullopt;
  const Rect image{0, 0, image_width_, image_height_};
  const Rect missing = picture_.missing(cells_of(visible), settings_, view_.level());
  if (missing.empty()) return std::nullopt;
  Planned planned{
      waiting_ ? first_change_ + kDelay : last_change_,
      {settings_, *params_, layer_, 0, intersect(pixels_of(missing), image), view_.level()}};
  const bool small = planned.job.rect.area() <= kLargestJob;
  if (small && exact_seconds(planned.job.rect) <= kPrompt) return planned;
  if (!picture_.has_coarse(visible, settings_)) return coarse_job(visible);
  // The window has just opened: no slider moves, and on a card the work is quick, as it will show.
  planned.at = exact_cost_ ? last_change_ + kRest : last_change_;
  planned.job.rect = intersect(pixels_of(next_part(missing)), image);
  return planned;
}

PreviewModel::Planned PreviewModel::coarse_job(const Rect& visible) const {
  Planned planned{waiting_ ? first_change_ + kDelay : last_change_,
                  {settings_, *params_, layer_, 0, visible, view_.level(), true}};
  // No finer than it is shown, and as coarse as it takes; but not so small that nothing is left to
  // compare.
  int32_t reduction = 0;
  const auto seconds = [&] {
    return coarse_rate_ * static_cast<double>(visible.area()) /
           static_cast<double>(1 << 2 * reduction);
  };
  const double most = view_.level() > 0 ? kCoarseReduced : kCoarse;
  while (reduction + 1 < kLevels && (reduction < view_.level() || seconds() > most) &&
         std::min(image_width_, image_height_) >> (reduction + 1) >= kSmallestReduced) {
    ++reduction;
  }
  planned.job.reduction = reduction;
  return planned;
}

// A square block of what is missing, so large that it takes kPart, but not mostly halo: the one
// nearest to where the user looks. All of it when it wouldn't take much longer.
Rect PreviewModel::next_part(const Rect& missing) const {
  const int32_t halo = exact_halo();
  const double prompt = std::sqrt(kPart / exact_rate()) - halo;
  const double side = std::min(std::max(prompt, kPartHalos * halo), std::sqrt(kLargestJob));
  const int32_t block = std::max(1, static_cast<int32_t>(side / kCellSize));
  const double seconds = exact_seconds(pixels_of({0, 0, block, block}));
  const bool small = pixels_of(missing).area() <= kLargestJob;
  if (small && exact_seconds(pixels_of(missing)) <= 2 * std::max(seconds, kPart)) return missing;
  const Rect visible = view_.visible();
  const auto [middle_x, middle_y] =
      focus_.value_or(std::pair{visible.x + visible.width / 2.0, visible.y + visible.height / 2.0});
  Rect nearest;
  double nearest_distance = 0;
  for (int32_t y = missing.y / block * block; y < missing.bottom(); y += block) {
    for (int32_t x = missing.x / block * block; x < missing.right(); x += block) {
      const Rect part =
          picture_.missing(intersect({x, y, block, block}, missing), settings_, view_.level());
      if (part.empty()) continue;
      const Rect pixels = pixels_of(part);
      const double distance = std::hypot(pixels.x + pixels.width / 2.0 - middle_x,
                                         pixels.y + pixels.height / 2.0 - middle_y);
      if (nearest.empty() || distance < nearest_distance) {
        nearest = part;
        nearest_distance = distance;
      }
    }
  }
  return nearest;
}

std::optional<int64_t> PreviewModel::wait(int64_t now) const {
  const std::optional<Planned> planned = plan();
  if (!planned) return std::nullopt;
  return std::max<int64_t>(0, planned->at - now);
}

std::optional<PreviewJob> PreviewModel::due(int64_t now) const {
  std::optional<Planned> planned = plan();
  if (!planned || planned->at > now) return std::nullopt;
  return std::move(planned->job);
}

void PreviewModel::start(const PreviewJob& job) {
  running_ = job;
  waiting_ = false;
}

// Quick work ends by itself and has something newer to show than what is there. Slow work is worth
// its while as long as its settings are the newest and some of it is in view.
bool PreviewModel::outdated() const {
  if (running_ && (running_->layer != layer_ || running_->settings < oldest_)) return true;
  if (!running_ || running_->coarse || !waiting_) return false;
  if (exact_seconds(running_->rect) <= kPrompt) return false;
  return running_->settings != settings_ || intersect(running_->rect, view_.visible()).empty() ||
         running_->level > view_.level();
}

bool PreviewModel::finished(PreviewAnswer answer) {
  running_.reset();
  const PreviewJob& job = answer.job;
  if (job.layer != layer_ || job.settings < oldest_) return false;
  if (!answer.status.ok()) {
    if (answer.status.code() == ErrorCode::kCancelled || job.settings != settings_) return false;
    error_ = answer.status.message();
    failed_ = true;
    return false;
  }
  const double pixels = area_of(job.rect) / static_cast<double>(1 << 2 * job.reduction);
  if (answer.info.spared) {
    // Says nothing about the others' time.
  } else if (job.coarse) {
    coarse_rate_ = answer.info.seconds / pixels;
  } else {
    exact_halo_ = answer.info.halo;
    exact_rate_ = answer.info.seconds / area_of(job.rect, exact_halo_);
    exact_cost_ = cost_of(job.params);
    exact_sum_ += answer.info.seconds;
    answer.info.seconds = exact_sum_;
  }
  error_.clear();
  coarse_ = job.coarse;
  if (!answer.info.spared || own_info() == nullptr) {
    info_ = std::move(answer.info);
    info_layer_ = job.layer;
  }
  picture_.add(std::move(answer.piece));
  return true;
}

bool PreviewModel::busy() const {
  if (running_) return true;
  if (!params_ || failed_) return false;
  return !picture_.missing(cells_of(view_.visible()), settings_, view_.level()).empty();
}

double PreviewModel::progress() const {
  const Rect cells = cells_of(view_.visible());
  if (cells.empty()) return 1;
  int64_t exact = 0;
  for (int32_t row = cells.y; row < cells.bottom(); ++row) {
    for (int32_t column = cells.x; column < cells.right(); ++column) {
      exact += picture_.has({column, row}, settings_, view_.level()) ? 1 : 0;
    }
  }
  return static_cast<double>(exact) / static_cast<double>(cells.area());
}

}  // namespace grainless::ui
