// SPDX-License-Identifier: MIT
#include "impulses.h"

#include "engine/boundary/impulse.h"
#include "engine/boundary/pixel_math.h"

namespace grainless {
namespace {

constexpr int32_t kMargin = kImpulseRing + kImpulseFill;
constexpr uint8_t kNoPixel = 0xff;  // bits of what is not there or not valid

// The tile's bent colours, as impulse.h asks for them.
class Colours {
 public:
  Colours(const Plan& plan, const AbiTile& tile, const Rect& rect, ThreadPool& pool)
      : values_(plan.format.colours(), rect), valid_(1, rect) {
    const ConstImage image{plan.format,       tile.image_width,
                           tile.image_height, tile.in,
                           tile.source,       static_cast<ptrdiff_t>(tile.source_row_bytes)};
    pool.parallel_for(rect.height, [&](int32_t i, int32_t) { load_row(plan, image, rect.y + i); });
  }

  const Rect& rect() const { return values_.rect(); }
  bool valid(int32_t x, int32_t y) const {
    return rect().contains(x, y) && *valid_.at(0, x, y) != 0;
  }
  float value(int32_t c, int32_t x, int32_t y) const { return *values_.at(c, x, y); }

 private:
  void load_row(const Plan& plan, const ConstImage& image, int32_t y) {
    const GainField field = field_of(plan.corners, image.width, image.height);
    for (int32_t x = rect().x; x < rect().right(); ++x) {
      const void* pixel = pixel_at(image, x, y);
      *valid_.at(0, x, y) = pixel_is_valid(pixel, plan.format, plan.valid) ? 1 : 0;
      const float gain = gain_at(field, x, y);
      for (int32_t c = 0; c < values_.channels(); ++c) {
        const float value = load_component(pixel, plan.format.component, c);
        *values_.at(c, x, y) = plan.bend.enabled != 0 ? bent(plan.bend, value / gain) : value;
      }
    }
  }

  Planes values_;
  BasicPlanes<uint8_t> valid_;
};

void replace_pixel(const Plan& plan, const Colours& colours, const BasicPlanes<uint8_t>& found,
                   int32_t x, int32_t y, Planes& planes) {
  const auto bits = [&](int32_t bx, int32_t by) -> uint32_t {
    return found.rect().contains(bx, by) ? *found.at(0, bx, by) : kNoPixel;
  };
  float value[kMaxChannels] = {};
  for (int32_t c = 0; c < planes.channels(); ++c) {
    value[c] = (bits(x, y) >> c & 1u) != 0
                   ? impulse_replacement(colours, bits, c, x, y, plan.impulse.agree)
                   : colours.value(c, x, y);
  }
  if (planes.channels() == 1) {
    if (plan.impulse.luma != 0) *planes.at(0, x, y) = value[0];
    return;
  }
  const Yuv yuv = yuv_from_rgb({value[0], value[1], value[2]});
  if (plan.impulse.luma != 0) *planes.at(0, x, y) = yuv.y;
  if (plan.impulse.chroma == 0) return;
  *planes.at(1, x, y) = yuv.u;
  *planes.at(2, x, y) = yuv.v;
}

}  // namespace

void replace_impulses(const Plan& plan, const AbiTile& tile, Planes& planes, ThreadPool& pool) {
  const Rect image{0, 0, tile.image_width, tile.image_height};
  const Colours colours(plan, tile, intersect(expand(planes.rect(), kMargin), image), pool);
  const Rect rect = intersect(expand(planes.rect(), kImpulseFill), image);
  BasicPlanes<uint8_t> found(1, rect);
  pool.parallel_for(rect.height, [&](int32_t i, int32_t) {
    const int32_t y = rect.y + i;
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      *found.at(0, x, y) =
          colours.valid(x, y)
              ? static_cast<uint8_t>(impulse_bits(colours, x, y, planes.channels(), plan.impulse))
              : kNoPixel;
    }
  });
  const Rect& own = planes.rect();
  pool.parallel_for(own.height, [&](int32_t i, int32_t) {
    const int32_t y = own.y + i;
    for (int32_t x = own.x; x < own.right(); ++x) {
      const uint8_t bits = *found.at(0, x, y);
      if (bits != 0 && bits != kNoPixel) replace_pixel(plan, colours, found, x, y, planes);
    }
  });
}

uint64_t impulse_bytes(const Plan& plan, int32_t width, int32_t height) {
  if (plan.impulse.enabled == 0) return 0;
  const int32_t w = width + 2 * kMargin, h = height + 2 * kMargin;
  return Planes::bytes(plan.format.colours(), w, h) + 2 * BasicPlanes<uint8_t>::bytes(1, w, h);
}

}  // namespace grainless
