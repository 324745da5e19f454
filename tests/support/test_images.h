// SPDX-License-Identifier: MIT
// Seeded pictures with noise, in any pixel format and with any stride.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/boundary/pixels.h"

namespace grainless::test {

struct TestImage {
  PixelFormat format;
  int32_t width, height;
  ptrdiff_t row_bytes;
  std::vector<uint8_t> bytes;

  TestImage(PixelFormat format, int32_t width, int32_t height, int32_t padding_bytes = 0);

  ConstImage view() const;
  MutableImage target();
  // Views of one rectangle, sharing these pixels.
  ConstImage view(const Rect& rect) const;
  MutableImage target(const Rect& rect);

  // Component in 8-bit steps.
  float get(int32_t x, int32_t y, int32_t c) const;
  void set(int32_t x, int32_t y, int32_t c, float value);
};

// Edges, a ramp, a texture and Gaussian noise of sigma; alpha, if any, opaque.
TestImage noisy_picture(PixelFormat format, int32_t width, int32_t height, float sigma,
                        uint32_t seed = 1, int32_t padding_bytes = 0);

// Waves of many directions and lengths, about 0: a scene that is known between pixels, too.
double waves(double x, double y);

// The largest difference of two images over all components, in 8-bit steps.
float largest_difference(const TestImage& a, const TestImage& b);
// Peak signal-to-noise ratio over the colour components, peak 255; infinity when equal.
double psnr(const TestImage& a, const TestImage& b);

}  // namespace grainless::test
