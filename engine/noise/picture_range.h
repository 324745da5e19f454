// SPDX-License-Identifier: MIT
// The range of a picture's values, which decides how finely and how widely patches are compared
// (engine/plan/match_scale.h). Like the noise, it is measured on whole pictures, never on a crop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/boundary/pixels.h"
#include "picture_noise.h"

namespace grainless {

// The range of all images together (the layers of a volume), which must be whole and of one format.
// It is taken from some 260,000 pixels, evenly spread. A value beyond black or white counts only as
// far as its surroundings reach it, too: that of one or a few pixels does not belong to the
// picture. Integers, and pictures near black..white, have the range 0..255. Where no pixel can be
// hidden, there is no mean.
PictureRange picture_range(std::span<const ConstImage> images);

// The same for pictures that are read in bands of rows.
class RangeMeter {
 public:
  struct Size {
    PixelFormat format;
    int32_t width, height;
  };
  // For `count` pictures of that size.
  RangeMeter(const Size& size, int64_t count);

  // Adds the rows first..end-1 of a band, which has the picture's width, and a row before and after
  // these where the picture has them. Each row of each picture is to be added once.
  void add(const ConstImage& band, int32_t first, int32_t end);

  PictureRange range();

 private:
  void add_pixel(const ConstImage& band, int32_t x, int32_t y);
  float ranked(int64_t rank);

  int32_t step_ = 0;  // between the pixels that are looked at; 0: none is
  std::vector<float> values_;
  bool usual_ = true;
  struct Mean {
    double sum = 0;
    int64_t count = 0;
  };
  Mean mean_[kMaxChannels];
};

// How many times as wide as that of a usual picture; at least 1.
double whites(const PictureRange& range);

// Whether the range depends on the pixels; all other formats have the usual range, and hide
// nothing.
bool has_range(PixelFormat format);

}  // namespace grainless
