// SPDX-License-Identifier: MIT
#include "picture_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "engine/boundary/pixel_math.h"

namespace grainless {
namespace {

constexpr int64_t kPixels = 1 << 18;
constexpr int32_t kSupport = 5;  // of 3 x 3 pixels: a majority
constexpr int64_t kThousandth = 1000;

bool is_within_usual(float value) {
  return PictureRange{value, value, value}.is_usual();
}

// The middle one of the values round (x, y), those beyond the border reflected. Nothing where fewer
// than kSupport take part.
std::optional<float> median_around(const ConstImage& image, int32_t x, int32_t y, int32_t c) {
  std::array<float, 9> values;
  int32_t count = 0;
  for (int32_t dy = -1; dy <= 1; ++dy) {
    for (int32_t dx = -1; dx <= 1; ++dx) {
      const void* pixel =
          pixel_at(image, reflect(x + dx, image.width), reflect(y + dy, image.height));
      if (!pixel_is_valid(pixel, image.format)) continue;
      values[count++] = load_component(pixel, image.format.component, c);
    }
  }
  if (count < kSupport) return std::nullopt;
  std::sort(values.begin(), values.begin() + count);
  // What kSupport values reach: in the direction away from the usual ones.
  const float low = values[kSupport - 1], high = values[count - kSupport];
  return std::abs(low - 127.5f) < std::abs(high - 127.5f) ? low : high;
}

class Values {
 public:
  void add(const ConstImage& image, int32_t x, int32_t y) {
    const void* pixel = pixel_at(image, x, y);
    if (!pixel_is_valid(pixel, image.format)) return;
    for (int32_t c = 0; c < image.format.colours(); ++c) {
      float value = load_component(pixel, image.format.component, c);
      if (!is_within_usual(value)) {
        const std::optional<float> median = median_around(image, x, y, c);
        if (!median) continue;
        value = *median;
        usual_ = usual_ && is_within_usual(value);
      }
      values_.push_back(value);
    }
  }

  PictureRange range() {
    if (usual_) return {};
    const auto last = static_cast<int64_t>(values_.size()) - 1;
    const PictureRange range{ranked(last / kThousandth), ranked(last / 2),
                             ranked(last - last / kThousandth)};
    return range.is_usual() ? PictureRange() : range;
  }

 private:
  float ranked(int64_t rank) {
    const auto at = values_.begin() + rank;
    std::nth_element(values_.begin(), at, values_.end());
    return *at;
  }

  std::vector<float> values_;
  bool usual_ = true;
};

}  // namespace

double whites(const PictureRange& range) {
  return range.is_usual() ? 1.0 : std::max(1.0, (double{range.high} - range.low) / 255);
}

bool has_range(PixelFormat format) {
  return format.component == Component::kHalf || format.component == Component::kFloat;
}

PictureRange picture_range(std::span<const ConstImage> images) {
  if (images.empty() || !has_range(images.front().format)) return {};
  double pixels = 0;
  for (const ConstImage& image : images) pixels += 1.0 * image.width * image.height;
  const auto step =
      std::max<int32_t>(1, static_cast<int32_t>(std::ceil(std::sqrt(pixels / kPixels))));
  Values values;
  for (const ConstImage& image : images) {
    for (int32_t y = std::min(step / 2, image.height - 1); y < image.height; y += step) {
      for (int32_t x = std::min(step / 2, image.width - 1); x < image.width; x += step) {
        values.add(image, x, y);
      }
    }
  }
  return values.range();
}

}  // namespace grainless
