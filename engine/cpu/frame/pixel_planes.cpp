// SPDX-License-Identifier: MIT
#include "pixel_planes.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/boundary/pixel_math.h"

namespace grainless {
namespace {

constexpr int32_t kRowsAtOnce = 16;

ConstImage source_image(const Plan& plan, const AbiTile& tile) {
  return {plan.format, tile.image_width, tile.image_height,
          tile.in,     tile.source,      static_cast<ptrdiff_t>(tile.source_row_bytes)};
}

struct Colour {
  float plane[kMaxChannels];
};

template <bool kBent>
inline Colour load_colour(const void* pixel, PixelFormat format, const ToneBend& bend) {
  float value[kMaxChannels] = {};
  for (int32_t c = 0; c < format.colours(); ++c) {
    value[c] = load_component(pixel, format.component, c);
    if (kBent) value[c] = bent(bend, value[c]);
  }
  if (format.colours() == 1) return {{value[0], 0, 0}};
  const Yuv yuv = yuv_from_rgb({value[0], value[1], value[2]});
  return {{yuv.y, yuv.u, yuv.v}};
}

inline Colour load_colour(const void* pixel, PixelFormat format, const ToneBend& bend) {
  return bend.enabled != 0 ? load_colour<true>(pixel, format, bend)
                           : load_colour<false>(pixel, format, bend);
}

// What is valid, how it is bent and what stands for the hidden: the plan's.
struct Reading {
  ValueRange valid;
  const ToneBend& bend;
  const float (&hidden)[kMaxChannels];
};

// Returns how many pixels of the row are invalid. The format is a template argument so that the
// compiler can unswitch and vectorise the loop.
template <Component kComponent, int32_t kChannels, bool kBent>
int32_t load_row(const void* row, int32_t width, const Reading& reading, Planes& planes,
                 int32_t y) {
  constexpr PixelFormat kFormat{kComponent, kChannels};
  constexpr bool kAlwaysValid =
      !kFormat.has_alpha() && (kComponent == Component::kU8 || kComponent == Component::kU16);
  float* out[kMaxChannels] = {};
  for (int32_t c = 0; c < kFormat.colours(); ++c) out[c] = planes.at(c, planes.rect().x, y);
  const auto* pixel = static_cast<const uint8_t*>(row);
  int32_t invalid = 0;
  for (int32_t x = 0; x < width; ++x, pixel += kFormat.pixel_bytes()) {
    if (!kAlwaysValid) invalid += pixel_is_valid(pixel, kFormat, reading.valid) ? 0 : 1;
    const Colour colour = load_colour<kBent>(pixel, kFormat, reading.bend);
    for (int32_t c = 0; c < kFormat.colours(); ++c) out[c][x] = colour.plane[c];
  }
  return invalid;
}

using LoadRow = int32_t (*)(const void*, int32_t, const Reading&, Planes&, int32_t);

template <Component kComponent, bool kBent>
LoadRow load_row_for(int32_t channels) {
  switch (channels) {
    case 1:
      return load_row<kComponent, 1, kBent>;
    case 2:
      return load_row<kComponent, 2, kBent>;
    case 3:
      return load_row<kComponent, 3, kBent>;
    default:
      return load_row<kComponent, 4, kBent>;
  }
}

template <bool kBent>
LoadRow load_row_for(PixelFormat format) {
  switch (format.component) {
    case Component::kU8:
      return load_row_for<Component::kU8, kBent>(format.channels);
    case Component::kU16:
      return load_row_for<Component::kU16, kBent>(format.channels);
    case Component::kHalf:
      return load_row_for<Component::kHalf, kBent>(format.channels);
    case Component::kFloat:
      break;
  }
  return load_row_for<Component::kFloat, kBent>(format.channels);
}

void fill_pixel(const ConstImage& image, const Reading& reading, int32_t x, int32_t y,
                Planes& planes) {
  const Rect window =
      intersect({x - kFillRadius, y - kFillRadius, 2 * kFillRadius + 1, 2 * kFillRadius + 1},
                {0, 0, image.width, image.height});
  float sum[kMaxChannels] = {};
  int32_t count = 0;
  for (int32_t wy = window.y; wy < window.bottom(); ++wy) {
    for (int32_t wx = window.x; wx < window.right(); ++wx) {
      const void* pixel = pixel_at(image, wx, wy);
      if (!pixel_is_valid(pixel, image.format, reading.valid)) continue;
      const Colour colour = load_colour(pixel, image.format, reading.bend);
      for (int32_t c = 0; c < planes.channels(); ++c) sum[c] += colour.plane[c];
      ++count;
    }
  }
  for (int32_t c = 0; c < planes.channels(); ++c) {
    *planes.at(c, x, y) = count > 0 ? sum[c] / static_cast<float>(count) : reading.hidden[c];
  }
}

// Sets out[x] when any of the `kSpan` entries from x on is set.
void spread(const std::vector<uint8_t>& in, int32_t width, std::vector<uint8_t>& out) {
  constexpr int32_t kSpan = 2 * kFillRadius + 1;
  int32_t count = 0;
  for (int32_t x = 0; x < width + kSpan - 1; ++x) {
    count += in[x];
    if (x >= kSpan) count -= in[x - kSpan];
    if (x >= kSpan - 1) out[x - kSpan + 1] = count > 0;
  }
}

// Fills one row. Large transparent areas have no valid pixel near and must not cost a window each.
void fill_row(const ConstImage& image, const Reading& reading, int32_t y, Planes& planes) {
  const Rect& rect = planes.rect();
  const int32_t wide = rect.width + 2 * kFillRadius;
  std::vector<uint8_t> column(wide, 0), near(rect.width, 0);
  const Rect window = intersect({rect.x - kFillRadius, y - kFillRadius, wide, 2 * kFillRadius + 1},
                                {0, 0, image.width, image.height});
  for (int32_t wy = window.y; wy < window.bottom(); ++wy) {
    for (int32_t wx = window.x; wx < window.right(); ++wx) {
      column[wx - rect.x + kFillRadius] |=
          pixel_is_valid(pixel_at(image, wx, wy), image.format, reading.valid);
    }
  }
  spread(column, rect.width, near);
  for (int32_t x = rect.x; x < rect.right(); ++x) {
    if (pixel_is_valid(pixel_at(image, x, y), image.format, reading.valid)) continue;
    if (near[x - rect.x]) {
      fill_pixel(image, reading, x, y, planes);
    } else {
      for (int32_t c = 0; c < planes.channels(); ++c) *planes.at(c, x, y) = reading.hidden[c];
    }
  }
}

void over_rows(const Rect& rect, ThreadPool& pool, const std::function<void(int32_t y)>& body) {
  pool.parallel_for((rect.height + kRowsAtOnce - 1) / kRowsAtOnce, [&](int32_t strip, int32_t) {
    const int32_t first = rect.y + strip * kRowsAtOnce;
    for (int32_t y = first; y < std::min(first + kRowsAtOnce, rect.bottom()); ++y) body(y);
  });
}

// What a pixel is made of again: the result, and the source for its share of detail.
struct Layers {
  const Planes &source, &result;
};

void store_pixel(const Plan& plan, const Layers& layers, int32_t x, int32_t y, const void* from,
                 void* to) {
  const PixelFormat format = plan.format;
  if (!pixel_is_valid(from, format, plan.valid)) {
    std::memcpy(to, from, format.pixel_bytes());
    return;
  }
  float plane[kMaxChannels] = {};
  for (int32_t c = 0; c < plan.channels; ++c) plane[c] = *layers.result.at(c, x, y);
  plane[0] += plan.detail * (*layers.source.at(0, x, y) - plane[0]);
  Rgb rgb{plane[0], 0, 0};
  if (format.colours() == 3) rgb = rgb_from_yuv({plane[0], plane[1], plane[2]});
  const float value[kMaxChannels] = {rgb.r, rgb.g, rgb.b};
  for (int32_t c = 0; c < format.colours(); ++c) {
    store_component(to, format.component, c,
                    plan.bend.enabled != 0 ? unbent(plan.bend, value[c]) : value[c]);
  }
  if (format.has_alpha()) {
    const int32_t bytes = format.component_bytes(), at = (format.channels - 1) * bytes;
    std::memcpy(static_cast<uint8_t*>(to) + at, static_cast<const uint8_t*>(from) + at, bytes);
  }
}

}  // namespace

Planes planes_from_pixels(const Plan& plan, const AbiTile& tile, const Rect& rect,
                          ThreadPool& pool) {
  const ConstImage image = source_image(plan, tile);
  const Reading reading{plan.valid, plan.bend, plan.hidden};
  const LoadRow load =
      plan.bend.enabled != 0 ? load_row_for<true>(plan.format) : load_row_for<false>(plan.format);
  Planes planes(plan.channels, rect);
  over_rows(rect, pool, [&](int32_t y) {
    const void* row = pixel_at(image, rect.x, y);
    if (load(row, rect.width, reading, planes, y) > 0) fill_row(image, reading, y, planes);
  });
  return planes;
}

void pixels_from_planes(const Plan& plan, const AbiTile& tile, const Planes& source,
                        const Planes& result, ThreadPool& pool) {
  const ConstImage image = source_image(plan, tile);
  const MutableImage target{plan.format,       tile.image_width,
                            tile.image_height, tile.out,
                            tile.target,       static_cast<ptrdiff_t>(tile.target_row_bytes)};
  over_rows(tile.out, pool, [&](int32_t y) {
    for (int32_t x = tile.out.x; x < tile.out.right(); ++x) {
      store_pixel(plan, {source, result}, x, y, pixel_at(image, x, y), pixel_at(target, x, y));
    }
  });
}

}  // namespace grainless
