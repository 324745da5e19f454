// SPDX-License-Identifier: MIT
#include "test_images.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/boundary/pixel_math.h"

namespace grainless::test {

TestImage::TestImage(PixelFormat format, int32_t width, int32_t height, int32_t padding_bytes)
    : format(format),
      width(width),
      height(height),
      row_bytes(ptrdiff_t{width} * format.pixel_bytes() + padding_bytes),
      bytes(static_cast<size_t>(row_bytes) * height, 0xa5) {}

ConstImage TestImage::view() const {
  return view({0, 0, width, height});
}
MutableImage TestImage::target() {
  return target({0, 0, width, height});
}

ConstImage TestImage::view(const Rect& rect) const {
  const ConstImage whole{format, width, height, {0, 0, width, height}, bytes.data(), row_bytes};
  return {format, width, height, rect, pixel_at(whole, rect.x, rect.y), row_bytes};
}

MutableImage TestImage::target(const Rect& rect) {
  const MutableImage whole{format, width, height, {0, 0, width, height}, bytes.data(), row_bytes};
  return {format, width, height, rect, pixel_at(whole, rect.x, rect.y), row_bytes};
}

float TestImage::get(int32_t x, int32_t y, int32_t c) const {
  return load_component(pixel_at(view(), x, y), format.component, c);
}

void TestImage::set(int32_t x, int32_t y, int32_t c, float value) {
  store_component(pixel_at(target(), x, y), format.component, c, value);
}

TestImage noisy_picture(PixelFormat format, int32_t width, int32_t height, float sigma,
                        uint32_t seed, int32_t padding_bytes) {
  TestImage image(format, width, height, padding_bytes);
  std::mt19937 generator(seed);
  std::normal_distribution<float> gaussian(0.0f, 1.0f);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const float ramp =
          60.0f + 100.0f * static_cast<float>(x + y) / static_cast<float>(width + height);
      const float edge = (x / 23 + y / 31) % 2 == 0 ? 35.0f : -15.0f;
      const float texture =
          12.0f * std::sin(0.7f * static_cast<float>(x)) * std::sin(0.5f * static_cast<float>(y));
      for (int32_t c = 0; c < format.colours(); ++c) {
        const float tint = 1.0f - 0.2f * static_cast<float>(c);
        image.set(x, y, c, (ramp + edge) * tint + texture + sigma * gaussian(generator));
      }
      if (format.has_alpha()) image.set(x, y, format.channels - 1, 255.0f);
    }
  }
  return image;
}

double waves(double x, double y) {
  double sum = 0;
  for (int32_t i = 1; i <= 12; ++i) {
    const double angle = 2.4 * i, length = 5 + 2.5 * i;
    const double along = std::cos(angle) * x + std::sin(angle) * y;
    sum += 2.0 * std::sqrt(length) * std::sin(6.2832 * along / length + 1.7 * i);
  }
  return sum;
}

float largest_difference(const TestImage& a, const TestImage& b) {
  float largest = 0;
  for (int32_t y = 0; y < a.height; ++y) {
    for (int32_t x = 0; x < a.width; ++x) {
      for (int32_t c = 0; c < a.format.channels; ++c) {
        const float difference = std::abs(a.get(x, y, c) - b.get(x, y, c));
        if (!(difference <= largest)) largest = difference;  // NaN is a difference
      }
    }
  }
  return largest;
}

double psnr(const TestImage& a, const TestImage& b) {
  double sum = 0;
  for (int32_t y = 0; y < a.height; ++y) {
    for (int32_t x = 0; x < a.width; ++x) {
      for (int32_t c = 0; c < a.format.colours(); ++c) {
        const double difference = a.get(x, y, c) - b.get(x, y, c);
        sum += difference * difference;
      }
    }
  }
  const double mean = sum / (1.0 * a.width * a.height * a.format.colours());
  return mean == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(255 * 255 / mean);
}

}  // namespace grainless::test
