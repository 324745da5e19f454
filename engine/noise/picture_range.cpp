// SPDX-License-Identifier: MIT
#include "picture_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

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
  std::fill(values.begin() + count, values.end(), HUGE_VALF);
  std::sort(values.begin(), values.end());
  // What kSupport values reach: in the direction away from the usual ones.
  const float low = values[kSupport - 1], high = values[count - kSupport];
  return std::abs(low - 127.5f) < std::abs(high - 127.5f) ? low : high;
}

}  // namespace

double whites(const PictureRange& range) {
  return range.is_usual() ? 1.0 : std::max(1.0, (double{range.high} - range.low) / 255);
}

bool has_range(PixelFormat format) {
  return format.has_alpha() || format.component == Component::kHalf ||
         format.component == Component::kFloat;
}

PictureRange picture_range(std::span<const ConstImage> images) {
  if (images.empty()) return {};
  const ConstImage& first = images.front();
  RangeMeter meter({first.format, first.width, first.height}, std::ssize(images));
  for (const ConstImage& image : images) meter.add(image, 0, image.height);
  return meter.range();
}

RangeMeter::RangeMeter(const Size& size, int64_t count) {
  if (!has_range(size.format)) return;
  const double pixels = 1.0 * static_cast<double>(count) * size.width * size.height;
  step_ = std::max<int32_t>(1, static_cast<int32_t>(std::ceil(std::sqrt(pixels / kPixels))));
}

void RangeMeter::add(const ConstImage& band, int32_t first, int32_t end) {
  if (step_ == 0) return;
  // The first one may be the last row or column of a small picture.
  const int32_t top = std::min(step_ / 2, band.height - 1);
  const int32_t left = std::min(step_ / 2, band.width - 1);
  int32_t y = top;
  if (first > top) y += (first - top + step_ - 1) / step_ * step_;
  for (; y < end; y += step_) {
    for (int32_t x = left; x < band.width; x += step_) add_pixel(band, x, y);
  }
}

void RangeMeter::add_pixel(const ConstImage& band, int32_t x, int32_t y) {
  const void* pixel = pixel_at(band, x, y);
  if (!pixel_is_valid(pixel, band.format)) return;
  for (int32_t c = 0; c < band.format.colours(); ++c) {
    float value = load_component(pixel, band.format.component, c);
    if (!is_within_usual(value)) {
      const std::optional<float> median = median_around(band, x, y, c);
      if (!median) continue;
      value = *median;
      usual_ = usual_ && is_within_usual(value);
    }
    values_.push_back(value);
    mean_[c].sum += value;
    ++mean_[c].count;
  }
}

PictureRange RangeMeter::range() {
  PictureRange range;
  if (!usual_) {
    const auto last = static_cast<int64_t>(values_.size()) - 1;
    const PictureRange found{ranked(last / kThousandth), ranked(last / 2),
                             ranked(last - last / kThousandth)};
    if (!found.is_usual()) range = found;
  }
  for (int32_t c = 0; c < kMaxChannels; ++c) {
    const Mean& mean = mean_[c];
    if (mean.count == 0) continue;
    const auto value = static_cast<float>(mean.sum / static_cast<double>(mean.count));
    range.mean[c] = std::clamp(value, std::min(range.low, PictureRange::kLeastUsual),
                               std::max(range.high, PictureRange::kMostUsual));
  }
  return range;
}

float RangeMeter::ranked(int64_t rank) {
  const auto at = values_.begin() + rank;
  std::nth_element(values_.begin(), at, values_.end());
  return *at;
}

}  // namespace grainless
