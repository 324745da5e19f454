// SPDX-License-Identifier: MIT
#include "viewport.h"

#include <algorithm>
#include <cmath>

#include "picture.h"

namespace grainless::ui {
namespace {

constexpr double kSteps[] = {0.25, 1.0 / 3, 0.5, 2.0 / 3, 1, 2, 3, 4, 6, 8};
constexpr double kSame = 1e-6;  // zooms closer than this are one

int32_t rounded(double value) {
  return static_cast<int32_t>(std::lround(value));
}

// Centred when the image is smaller than the view, without a gap when it is larger.
int32_t placed(int32_t corner, double image, int32_t view) {
  const int32_t size = rounded(image);
  return size <= view ? (view - size) / 2 : std::clamp(corner, view - size, 0);
}

}  // namespace

std::span<const double> Viewport::zoom_steps() {
  return kSteps;
}

Viewport::Viewport(int32_t image_width, int32_t image_height)
    : image_width_(image_width), image_height_(image_height) {}

void Viewport::set_image(int32_t width, int32_t height) {
  image_width_ = width;
  image_height_ = height;
  if (fits_) zoom_ = fitting_zoom();
  place();
}

void Viewport::resize(int32_t width, int32_t height) {
  left_ += (width - width_) / 2;
  top_ += (height - height_) / 2;
  width_ = width;
  height_ = height;
  if (fits_) zoom_ = fitting_zoom();
  place();
}

void Viewport::pan_by(int32_t dx, int32_t dy) {
  left_ -= dx;
  top_ -= dy;
  place();
}

void Viewport::centre_on(double x, double y) {
  left_ = rounded(width_ / 2.0 - x * zoom_);
  top_ = rounded(height_ / 2.0 - y * zoom_);
  place();
}

void Viewport::zoom_to(double zoom, double x, double y) {
  const double image_x = this->image_x(x), image_y = this->image_y(y);
  fits_ = false;
  zoom_ = std::clamp(zoom, std::begin(kSteps)[0], std::end(kSteps)[-1]);
  left_ = rounded(x - image_x * zoom_);
  top_ = rounded(y - image_y * zoom_);
  place();
}

void Viewport::zoom_by(int by, double x, double y) {
  double zoom = zoom_;
  for (; by > 0; --by) {
    const auto* next = std::upper_bound(std::begin(kSteps), std::end(kSteps), zoom + kSame);
    if (next != std::end(kSteps)) zoom = *next;
  }
  for (; by < 0; ++by) {
    const auto* above = std::lower_bound(std::begin(kSteps), std::end(kSteps), zoom - kSame);
    // Below the last step there is only the whole image.
    if (above == std::begin(kSteps)) return fit();
    zoom = above[-1];
  }
  zoom_to(zoom, x, y);
}

void Viewport::fit() {
  fits_ = true;
  zoom_ = fitting_zoom();
  place();
}

double Viewport::fitting_zoom() const {
  if (width_ <= 0 || height_ <= 0) return 1;
  return std::min({1.0, double(width_) / image_width_, double(height_) / image_height_});
}

void Viewport::place() {
  left_ = placed(left_, image_width_ * zoom_, width_);
  top_ = placed(top_, image_height_ * zoom_, height_);
}

Rect Viewport::visible() const {
  const auto from = [&](int32_t corner) {
    return static_cast<int32_t>(std::floor(std::max(0.0, -corner / zoom_)));
  };
  const auto to = [&](int32_t corner, int32_t view) {
    return static_cast<int32_t>(std::ceil((view - corner) / zoom_ - kSame));
  };
  const int32_t x = from(left_), y = from(top_);
  return intersect({x, y, to(left_, width_) - x, to(top_, height_) - y},
                   {0, 0, image_width_, image_height_});
}

int32_t Viewport::level() const {
  int32_t level = 0;
  while (level + 1 < kLevels && zoom_ * (2 << level) <= 1 + kSame) ++level;
  return level;
}

}  // namespace grainless::ui
