// SPDX-License-Identifier: MIT
// Which part of an image a view shows, and how large. Lengths of the view are device pixels; at a
// zoom of 1 an image pixel is a device pixel.
#pragma once

#include <cstdint>
#include <span>

#include "engine/boundary/rect.h"

namespace grainless::ui {

class Viewport {
 public:
  // What a step of the wheel or a key goes through; fitting a large image may go below.
  static std::span<const double> zoom_steps();

  Viewport(int32_t image_width, int32_t image_height);

  // Another image: the view's place in it stays, as far as there is such a place.
  void set_image(int32_t width, int32_t height);
  // The middle stays in the middle; what fits goes on fitting.
  void resize(int32_t width, int32_t height);
  void pan_by(int32_t dx, int32_t dy);  // of the view over the image, in device pixels
  void centre_on(double x, double y);   // a place of the image
  // The place under (x, y) of the view stays there.
  void zoom_to(double zoom, double x, double y);
  void zoom_to(double zoom) { zoom_to(zoom, width_ / 2.0, height_ / 2.0); }
  // The next step up (by > 0) or down.
  void zoom_by(int by, double x, double y);
  void zoom_by(int by) { zoom_by(by, width_ / 2.0, height_ / 2.0); }
  // All of the image at once, never enlarged, and again after each resize().
  void fit();

  double zoom() const { return zoom_; }
  bool fits() const { return fits_; }
  int32_t width() const { return width_; }
  int32_t height() const { return height_; }
  // Where the image's corner stands in the view; negative when it is left of or above it.
  int32_t left() const { return left_; }
  int32_t top() const { return top_; }
  double image_x(double x) const { return (x - left_) / zoom_; }
  double image_y(double y) const { return (y - top_) / zoom_; }
  // The pixels of the image of which anything shows.
  Rect visible() const;
  // The coarsest level of resolution, 1/2^level, that has a pixel for each of the view's.
  int32_t level() const;

  bool operator==(const Viewport&) const = default;

 private:
  void place();
  double fitting_zoom() const;

  int32_t image_width_, image_height_;
  int32_t width_ = 0, height_ = 0;
  int32_t left_ = 0, top_ = 0;
  double zoom_ = 1;
  bool fits_ = false;
};

}  // namespace grainless::ui
