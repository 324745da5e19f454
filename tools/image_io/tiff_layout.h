// SPDX-License-Identifier: MIT
// How a page of a TIFF file keeps its pixels, and what they become.
#pragma once

#include <cstdint>

#include "image.h"
#include "tiff_handle.h"

namespace grainless::tools {

template <typename Value>
Value tiff_field(const TiffHandle& tiff, uint32_t tag, Value otherwise) {
  Value value{};
  return TIFFGetFieldDefaulted(tiff.get(), tag, &value) != 0 ? value : otherwise;
}

struct TiffLayout {
  uint32_t width = 0, height = 0;
  uint16_t bits = 0, samples = 0, photometric = 0;
  bool planes = false, palette = false;
  Extra extra = Extra::kAlpha;
  PixelFormat format;               // of the picture made of it
  const uint16_t* colours[3] = {};  // the palette's channels
  uint32_t palette_white = 65535;   // what its entries count to
};

// Of the handle's current page. Throws Error(kBadInput) when it is none that is supported.
TiffLayout read_tiff_layout(const TiffHandle& tiff);

// Makes `count` pixels of a decoded row (of one plane, where there are planes) ones of the picture.
void place_tiff_pixels(const TiffLayout& layout, const uint8_t* from, uint8_t* to, int32_t count,
                       int32_t plane);

}  // namespace grainless::tools
