// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/boundary/pixels.h"
#include "engine/boundary/rect.h"
#include "engine/denoise.h"

namespace grainless::helper {

// What has been computed of one image with one set of parameters: GIMP asks for all of it again
// when the user presses OK.
class Result {
 public:
  // A side of the cells that are there or not, in pixels: GIMP's tiles.
  static constexpr int32_t kCell = 64;

  Result(PixelFormat format, int32_t width, int32_t height, std::string params);

  const std::string& params() const { return params_; }
  bool complete() const { return left_ == 0; }
  // The cells' rectangle that is still to be computed for `rect`; empty when all of it is there.
  Rect missing(const Rect& rect) const;
  // All pixels; computed() says that those of missing() are in their places.
  MutableImage target(const Rect& rect);
  void computed(const Rect& cells, const Report& report);
  // Copies pixels that are there.
  void copy(const Rect& rect, uint8_t* pixels) const;
  // What the latest part took.
  double seconds_a_pixel() const { return seconds_a_pixel_; }
  // Of all parts together.
  const Report& report() const { return report_; }

 private:
  template <typename Body>
  void for_each_cell(const Rect& rect, const Body& body) const;

  PixelFormat format_;
  int32_t width_, height_;
  std::string params_;
  int32_t columns_;
  std::vector<uint8_t> ready_;  // a cell each
  size_t left_;                 // cells that are not
  std::unique_ptr<uint8_t[]> pixels_;
  Report report_;
  double seconds_a_pixel_ = 0;
};

}  // namespace grainless::helper
