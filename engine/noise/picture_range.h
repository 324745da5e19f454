// SPDX-License-Identifier: MIT
// Which values a picture holds, which decides how finely and how widely patches are compared
// (engine/plan/match_scale.h). As the noise it is measured on whole pictures, never on a crop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/boundary/pixels.h"
#include "model.h"

namespace grainless {

// Of all of the images together (a volume's layers), which are whole and of one format. Taken from
// some 260,000 pixels, evenly spread. A value beyond black or white counts as far as its
// surroundings hold as much: that of a single pixel, or of a few, is not the picture's. Integers
// and pictures about black..white have the range 0..255. Where no pixel can be hidden, there is no
// mean.
PictureRange picture_range(std::span<const ConstImage> images);

// The same of pictures that pass by in bands of rows.
class RangeMeter {
 public:
  struct Size {
    PixelFormat format;
    int32_t width, height;
  };
  // Of `count` pictures of that size.
  RangeMeter(const Size& size, int64_t count);

  // Rows first..end-1; a band has the picture's width, and a row before and after these where the
  // picture has them. Each row of each picture comes once.
  void add(const ConstImage& band, int32_t first, int32_t end);

  PictureRange range();

 private:
  void add_pixel(const ConstImage& band, int32_t x, int32_t y);
  float ranked(int64_t rank);

  int32_t step_ = 0;  // between pixels that are looked at; 0: none are
  std::vector<float> values_;
  bool usual_ = true;
  struct Mean {
    double sum = 0;
    int64_t count = 0;
  };
  Mean mean_[kMaxChannels];
};

// How many times wider than a usual picture's; at least 1.
double whites(const PictureRange& range);

// Whether the pixels decide it: all other formats have the usual range, and hide nothing.
bool has_range(PixelFormat format);

}  // namespace grainless
