// SPDX-License-Identifier: MIT
// A block's rows with the pixels round it, the image reflected at its borders.
#pragma once

#include <vector>

#include "engine/boundary/pixel_math.h"
#include "method.h"

namespace grainless {

// Calls row(c, y, source) for each row of `extended`, which may lie partly outside the image: its
// pixel x is source[columns[x]].
template <typename Row>
void for_extended_rows(const MethodJob& job, const Rect& extended, std::vector<int32_t>& columns,
                       const Row& row) {
  const int32_t left = job.source->rect().x;
  columns.resize(extended.width);
  for (int32_t x = 0; x < extended.width; ++x) {
    columns[x] = reflect(extended.x + x, job.image_width) - left;
  }
  for (int32_t c = 0; c < job.source->channels(); ++c) {
    for (int32_t y = 0; y < extended.height; ++y) {
      row(c, y, job.source->at(c, left, reflect(extended.y + y, job.image_height)));
    }
  }
}

}  // namespace grainless
