// SPDX-License-Identifier: MIT
// A picture of floats without alpha, in memory of its own: what stacks are averaged into and
// filtered as.
#pragma once

#include "engine/boundary/abi.h"
#include "engine/boundary/pixels.h"
#include "engine/boundary/plan.h"
#include "engine/cpu/frame/planes.h"
#include "engine/thread_pool.h"

namespace grainless {

struct FloatPicture {
  // Pixels of `held`, of a picture of that size; 0 at first, which is valid.
  FloatPicture(int32_t channels, int32_t picture_width, int32_t picture_height, const Rect& held,
               ThreadPool& pool);

  ptrdiff_t row_bytes() const { return ptrdiff_t{rect.width} * format.pixel_bytes(); }
  ConstImage image() const { return {format, width, height, rect, values.data(), row_bytes()}; }
  MutableImage writable() { return {format, width, height, rect, values.data(), row_bytes()}; }

  PixelFormat format;
  int32_t width, height;
  Rect rect;
  AlignedBuffer<float> values;
};

// As planes_from_pixels() and pixels_from_planes() take pixels: nothing but their format.
Plan plain_pixels(PixelFormat format);
AbiTile tile_of(const ConstImage& source, const MutableImage& target);

}  // namespace grainless
