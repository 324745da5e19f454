// SPDX-License-Identifier: MIT
#include "preview_model.h"

#include <algorithm>

namespace grainless::ui {

PreviewModel::PreviewModel(int32_t image_width, int32_t image_height)
    : image_width_(image_width), image_height_(image_height) {}

void PreviewModel::resize_view(int32_t width, int32_t height, int64_t now) {
  if (width == view_width_ && height == view_height_) return;
  const Rect before = visible();
  // The middle stays in the middle.
  x_ -= (width - view_width_) / 2;
  y_ -= (height - view_height_) / 2;
  view_width_ = width;
  view_height_ = height;
  clamp_origin();
  if (visible() != before) change(now);
}

void PreviewModel::centre_on(int32_t x, int32_t y, int64_t now) {
  pan_by(x - view_width_ / 2 - x_, y - view_height_ / 2 - y_, now);
}

void PreviewModel::pan_by(int32_t dx, int32_t dy, int64_t now) {
  const Rect before = visible();
  x_ += dx;
  y_ += dy;
  clamp_origin();
  if (visible() != before) change(now);
}

Rect PreviewModel::visible() const {
  return intersect({x_, y_, view_width_, view_height_}, {0, 0, image_width_, image_height_});
}

int32_t PreviewModel::left() const {
  return std::max(0, (view_width_ - image_width_) / 2);
}

int32_t PreviewModel::top() const {
  return std::max(0, (view_height_ - image_height_) / 2);
}

void PreviewModel::set_params(const Params& params, int64_t now) {
  if (params_ && *params_ == params) return;
  params_ = params;
  change(now);
}

std::optional<int64_t> PreviewModel::wait(int64_t now) const {
  if (!pending_ || !params_ || visible().empty()) return std::nullopt;
  return std::max<int64_t>(0, due_ - now);
}

std::optional<PreviewJob> PreviewModel::next_job(int64_t now) {
  const std::optional<int64_t> left = wait(now);
  if (!left || *left > 0) return std::nullopt;
  pending_ = false;
  running_ = true;
  return wanted();
}

PreviewJob PreviewModel::wanted() const {
  return {generation_, params_.value_or(Params()), visible()};
}

bool PreviewModel::finished(uint64_t generation, bool has_result) {
  if (generation != generation_) return false;
  running_ = false;
  return has_result;
}

void PreviewModel::change(int64_t now) {
  ++generation_;
  pending_ = true;
  running_ = false;
  due_ = now + kDebounce;
}

void PreviewModel::clamp_origin() {
  x_ = std::clamp(x_, 0, std::max(0, image_width_ - view_width_));
  y_ = std::clamp(y_, 0, std::max(0, image_height_ - view_height_));
}

}  // namespace grainless::ui
