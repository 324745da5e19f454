// SPDX-License-Identifier: MIT
#include "layer_selection.h"

#include <algorithm>
#include <cstring>

namespace grainless {
namespace {

constexpr int32_t kRows = 64;  // read in one piece

ui::Selection extent_of(GimpDrawable* drawable) {
  ui::Selection selection;
  Rect& rect = selection.rect;
  selection.whole = gimp_selection_is_empty(gimp_item_get_image(GIMP_ITEM(drawable))) != FALSE;
  if (!gimp_drawable_mask_intersect(drawable, &rect.x, &rect.y, &rect.width, &rect.height)) {
    rect = {};
  }
  return selection;
}

// a + (b - a) · weight / 256, channel by channel.
uint32_t mix(uint32_t a, uint32_t b, uint32_t weight) {
  const uint32_t even = (a & 0x00ff00ffu) * (256 - weight) + (b & 0x00ff00ffu) * weight;
  const uint32_t odd = (a >> 8 & 0x00ff00ffu) * (256 - weight) + (b >> 8 & 0x00ff00ffu) * weight;
  return (even >> 8 & 0x00ff00ffu) | (odd & 0xff00ff00u);
}

// A mean of `from` and `to`, weighted by how much each pixel is covered, into `to`.
void mix_in_linear_light(const Babl* native, const std::vector<float>& covered, const uint8_t* from,
                         uint8_t* to) {
  constexpr int kChannels = 4, kAlpha = 3;
  const auto count = static_cast<long>(covered.size());
  // In doubles, so that a pixel of 16 bits comes back as it was.
  const Babl* linear = babl_format_with_space("RGBA double", babl_format_get_space(native));
  const Babl* to_linear = babl_fish(native, linear);
  std::vector<double> before(covered.size() * kChannels), after(before.size());
  babl_process(to_linear, from, before.data(), count);
  babl_process(to_linear, to, after.data(), count);
  for (size_t i = 0; i < covered.size(); ++i) {
    const double* old = &before[i * kChannels];
    double* mean = &after[i * kChannels];
    const double alpha = (mean[kAlpha] - old[kAlpha]) * covered[i] + old[kAlpha];
    const double share = alpha != 0 ? covered[i] * mean[kAlpha] / alpha : 0;
    for (int c = 0; c < kAlpha; ++c) mean[c] = (mean[c] - old[c]) * share + old[c];
    mean[kAlpha] = alpha;
  }
  babl_process(babl_fish(linear, native), after.data(), to, count);
}

}  // namespace

LayerSelection::LayerSelection(GimpDrawable* drawable)
    : drawable_(drawable),
      placement_(placement_of(drawable)),
      channels_(drawable),
      shown_(extent_of(drawable)) {
  if (shown_.whole) return;
  GimpSelection* mask = gimp_image_get_selection(gimp_item_get_image(GIMP_ITEM(drawable)));
  format_ = gimp_drawable_get_format(GIMP_DRAWABLE(mask));
  row_bytes_ = static_cast<size_t>(babl_format_get_bytes_per_pixel(format_)) * rect().width;
  values_.resize(row_bytes_ * rect().height);
  shown_.inside.resize(static_cast<size_t>(rect().area()));
}

bool LayerSelection::load(int64_t end) {
  if (shown_.whole || rows_ == rect().height) return true;
  GimpSelection* mask = gimp_image_get_selection(gimp_item_get_image(GIMP_ITEM(drawable_)));
  GeglBuffer* buffer = gimp_drawable_get_buffer(GIMP_DRAWABLE(mask));
  while (rows_ < rect().height && g_get_monotonic_time() < end) {
    const int32_t rows = std::min(kRows, rect().height - rows_), y = rect().y + rows_;
    // The selection lives in the image.
    const GeglRectangle band{rect().x + placement_.x, y + placement_.y, rect().width, rows};
    gegl_buffer_get(buffer, &band, 1.0, format_, values_.data() + row_bytes_ * rows_,
                    static_cast<gint>(row_bytes_), GEGL_ABYSS_NONE);
    rows_ += rows;
    for (int32_t row = y; row < y + rows; ++row) {
      const std::vector<float> covered = coverage(rect().x, row, rect().width);
      std::transform(covered.begin(), covered.end(),
                     shown_.inside.begin() + std::ptrdiff_t{row - rect().y} * rect().width,
                     [](float value) { return value >= 0.5f ? 1 : 0; });
    }
  }
  g_object_unref(buffer);
  return rows_ == rect().height;
}

bool LayerSelection::covers_the_same(GimpDrawable* drawable) const {
  const ui::Selection now = extent_of(drawable);
  return now.whole == shown_.whole && now.rect == rect() && ActiveChannels(drawable) == channels_ &&
         placement_of(drawable).same_place(placement_);
}

bool LayerSelection::operator==(const LayerSelection& other) const {
  return shown_.whole == other.shown_.whole && rect() == other.rect() &&
         channels_ == other.channels_ && values_ == other.values_;
}

std::vector<float> LayerSelection::coverage(int32_t x, int32_t y, int32_t count) const {
  std::vector<float> covered(static_cast<size_t>(count));
  const Rect part = intersect({x, y, count, 1}, rect());
  if (part.empty()) return covered;
  const auto pixel = static_cast<size_t>(babl_format_get_bytes_per_pixel(format_));
  const uint8_t* values = values_.data() + row_bytes_ * static_cast<size_t>(y - rect().y) +
                          pixel * static_cast<size_t>(part.x - rect().x);
  babl_process(babl_fish(format_, babl_format("Y float")), values, covered.data() + (part.x - x),
               part.width);
  return covered;
}

void LayerSelection::merge(const Babl* native, int32_t x, int32_t y, int32_t count,
                           const uint8_t* original, uint8_t* result) const {
  if (!shown_.whole) blend(native, coverage(x, y, count), original, result);
  channels_.restore(native, original, result, count);
}

void LayerSelection::blend(const Babl* native, const std::vector<float>& covered,
                           const uint8_t* original, uint8_t* result) const {
  const auto pixel = static_cast<size_t>(babl_format_get_bytes_per_pixel(native));
  // Conversions cost more than all else, and most pixels are selected or not.
  std::vector<size_t> mixed;
  for (size_t i = 0; i < covered.size(); ++i) {
    if (covered[i] <= 0) {
      std::memcpy(result + i * pixel, original + i * pixel, pixel);
    } else if (covered[i] < 1) {
      mixed.push_back(i);
    }
  }
  if (mixed.empty()) return;
  std::vector<uint8_t> from(mixed.size() * pixel), to(from.size());
  std::vector<float> shares(mixed.size());
  for (size_t i = 0; i < mixed.size(); ++i) {
    std::memcpy(&from[i * pixel], original + mixed[i] * pixel, pixel);
    std::memcpy(&to[i * pixel], result + mixed[i] * pixel, pixel);
    shares[i] = covered[mixed[i]];
  }
  mix_in_linear_light(native, shares, from.data(), to.data());
  for (size_t i = 0; i < mixed.size(); ++i) {
    std::memcpy(result + mixed[i] * pixel, &to[i * pixel], pixel);
  }
}

void LayerSelection::merge(int32_t level, const ui::Bitmap& original, ui::Bitmap& result) const {
  const Rect part = shown_.whole ? Rect() : result.rect;
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    const std::vector<float> covered = coverage(part.x << level, y << level, part.width << level);
    const uint32_t* from = original.at(part.x, y);
    uint32_t* to = result.at(part.x, y);
    for (int32_t x = 0; x < part.width; ++x) {
      to[x] = mix(from[x], to[x], static_cast<uint32_t>(covered[size_t(x) << level] * 256));
    }
  }
  channels_.restore(original, result);
}

}  // namespace grainless
