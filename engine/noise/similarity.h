// SPDX-License-Identifier: MIT
// Where another layer of a stack shows what one layer shows: what a hand that holds the camera
// does between them. Points are x + i y, right and down from the picture's middle, in pixels.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#include "engine/boundary/rect.h"

namespace grainless {

using PicturePoint = std::complex<double>;

struct Similarity {
  PicturePoint by;    // of the middle, pixels
  PicturePoint more;  // of a point's own distance from it: real part enlarges, imaginary one turns

  PicturePoint at(PicturePoint p) const { return by + more * p; }  // displacement of a point
  bool is_none() const { return by == PicturePoint() && more == PicturePoint(); }
};

inline Similarity inverse(const Similarity& one) {
  const PicturePoint scale = 1.0 + one.more;
  return {-one.by / scale, 1.0 / scale - 1.0};
}

inline Similarity then(const Similarity& first, const Similarity& second) {
  const PicturePoint scale = 1.0 + second.more;
  return {scale * first.by + second.by, (1.0 + first.more) * scale - 1.0};
}

// Of a pixel's middle, in a picture of that size.
inline PicturePoint point_of(double x, double y, int32_t width, int32_t height) {
  return {x + 0.5 - 0.5 * width, y + 0.5 - 0.5 * height};
}

// What holds all that a rectangle becomes, and a few pixels round that; it may lie beyond the
// picture.
inline constexpr int32_t kMovedRound = 8;
inline Rect moved_about(const Similarity& by, const Rect& rect, int32_t width, int32_t height) {
  if (by.is_none()) return rect;
  double left = 0, right = 0, up = 0, down = 0;
  for (int32_t i = 0; i < 4; ++i) {
    const int32_t x = i % 2 == 0 ? rect.x : rect.right(), y = i < 2 ? rect.y : rect.bottom();
    const PicturePoint moved = by.at(point_of(x - 0.5, y - 0.5, width, height));
    left = i == 0 ? moved.real() : std::min(left, moved.real());
    right = i == 0 ? moved.real() : std::max(right, moved.real());
    up = i == 0 ? moved.imag() : std::min(up, moved.imag());
    down = i == 0 ? moved.imag() : std::max(down, moved.imag());
  }
  const auto below = [](double v) { return static_cast<int32_t>(std::floor(v)) - kMovedRound; };
  const auto above = [](double v) { return static_cast<int32_t>(std::ceil(v)) + kMovedRound; };
  return {rect.x + below(left), rect.y + below(up), rect.width + above(right) - below(left),
          rect.height + above(down) - below(up)};
}

inline constexpr int32_t kMostMeasured = 31;  // layers of a stack: all that one is averaged with

// How the layers of a stack lie to each other.
struct LayerPlaces {
  int32_t count = 0;              // of layers, which are all; 0: they lie where they are
  int32_t width = 0, height = 0;  // of each
  Similarity of[kMostMeasured];   // how the first one's points are displaced in each

  // How those of layer z are displaced in another one of layers of that shape.
  Similarity between(int32_t z, int32_t other, int32_t layers, int32_t across,
                     int32_t along) const {
    if (layers != count || across != width || along != height) return {};
    return then(inverse(of[z]), of[other]);
  }

  // Pixels that a layer's points are displaced by at most in those up to `depth` before and after
  // it.
  double farthest(int32_t depth) const;
};

}  // namespace grainless
