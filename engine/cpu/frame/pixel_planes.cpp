// SPDX-License-Identifier: MIT
#include "pixel_planes.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bend_rows.h"
#include "engine/boundary/pixel_math.h"
#include "rows.h"

namespace grainless {
namespace {

ConstImage source_image(const Plan& plan, const AbiTile& tile) {
  return {plan.format, tile.image_width, tile.image_height,
          tile.in,     tile.source,      static_cast<ptrdiff_t>(tile.source_row_bytes)};
}

struct Colour {
  float plane[kMaxChannels];
};

inline Colour load_values(const void* pixel, PixelFormat format) {
  Colour colour{};
  for (int32_t c = 0; c < format.colours(); ++c) {
    colour.plane[c] = load_component(pixel, format.component, c);
  }
  return colour;
}

inline Colour planes_of(const Colour& values, int32_t colours) {
  if (colours == 1) return values;
  const Yuv yuv = yuv_from_rgb({values.plane[0], values.plane[1], values.plane[2]});
  return {{yuv.y, yuv.u, yuv.v}};
}

// What is valid, how it is bent and what stands for the hidden: the plan's.
struct Reading {
  ValueRange valid;
  GainField field;
  const BendPieces& pieces;
  const float (&hidden)[kMaxChannels];
};

Colour load_colour(const void* pixel, PixelFormat format, const Reading& reading, float gain) {
  Colour colour = load_values(pixel, format);
  const ToneBend& bend = reading.pieces.bend;
  for (int32_t c = 0; c < format.colours() && bend.enabled != 0; ++c) {
    colour.plane[c] = bent(bend, colour.plane[c] / gain);
  }
  return planes_of(colour, format.colours());
}

// What a pixel is made of again: the result, and the source for its share of detail.
struct Layers {
  const Planes &source, &result;
  const GainField& field;
  const BendPieces& pieces;
};

// Colour values of a row, in R, G and B.
struct ColourRow {
  float* of[kMaxChannels] = {};
};

// What was loaded into row y of the planes.
void bend_colours(const Reading& reading, const Rect& rect, int32_t y, int32_t colours,
                  const ColourRow& row) {
  if (reading.field.gain.enabled != 0) {
    for (int32_t x = 0; x < rect.width; ++x) {
      const float gain = gain_at(reading.field, rect.x + x, y);
      for (int32_t c = 0; c < colours; ++c) row.of[c][x] /= gain;
    }
  }
  for (int32_t c = 0; c < colours; ++c) bend_row(reading.pieces, row.of[c], rect.width);
  if (colours == 1) return;
  for (int32_t x = 0; x < rect.width; ++x) {
    const Yuv yuv = yuv_from_rgb({row.of[0][x], row.of[1][x], row.of[2][x]});
    row.of[0][x] = yuv.y;
    row.of[1][x] = yuv.u;
    row.of[2][x] = yuv.v;
  }
}

// What the filter made of a row.
class ResultRow {
 public:
  ResultRow(const Layers& layers, float detail, int32_t x, int32_t y)
      : source_(layers.source.at(0, x, y)), detail_(detail), colours_(layers.result.channels()) {
    for (int32_t c = 0; c < colours_; ++c) result_[c] = layers.result.at(c, x, y);
  }

  int32_t colours() const { return colours_; }
  template <int32_t kColours>
  Colour at(int32_t x) const {
    const float luma = result_[0][x] + detail_ * (source_[x] - result_[0][x]);
    if constexpr (kColours == 1) return {{luma, 0, 0}};
    const Rgb rgb = rgb_from_yuv({luma, result_[1][x], result_[2][x]});
    return {{rgb.r, rgb.g, rgb.b}};
  }

 private:
  const float* source_;
  const float* result_[kMaxChannels] = {};
  float detail_;
  int32_t colours_;
};

// Its colours, as they were before they were bent. Without layers there are none.
class BentBack {
 public:
  BentBack(const Layers* layers, const ResultRow& result, const Rect& rect, int32_t y)
      : width_(rect.width) {
    if (layers == nullptr) return;
    values_.resize(static_cast<size_t>(width_) * result.colours());
    if (result.colours() == 1) {
      fill<1>(result);
    } else {
      fill<3>(result);
    }
    bend_row_back(layers->pieces, values_.data(), width_ * result.colours());
    if (layers->field.gain.enabled == 0) return;
    for (int32_t x = 0; x < width_; ++x) {
      const float gain = gain_at(layers->field, rect.x + x, y);
      for (int32_t c = 0; c < result.colours(); ++c) values_[c * width_ + x] *= gain;
    }
  }

  template <int32_t kColours>
  Colour at(int32_t x) const {
    Colour colour{};
    for (int32_t c = 0; c < kColours; ++c) colour.plane[c] = values_[c * width_ + x];
    return colour;
  }

 private:
  template <int32_t kColours>
  void fill(const ResultRow& result) {
    for (int32_t x = 0; x < width_; ++x) {
      const Colour colour = result.at<kColours>(x);
      for (int32_t c = 0; c < kColours; ++c) values_[c * width_ + x] = colour.plane[c];
    }
  }

  int32_t width_;
  std::vector<float> values_;
};

// Rows of pixels, of a format that is a template argument so that the compiler can unswitch and
// vectorise the loop.
template <Component kComponent, int32_t kChannels, bool kBent>
struct RowsOf {
  static constexpr PixelFormat kFormat{kComponent, kChannels};

  // Returns how many pixels of the row are invalid.
  static int32_t load(const void* row, int32_t width, const Reading& reading, Planes& planes,
                      int32_t y);

  // Row y of the target.
  static void store(const Plan& plan, const Layers& layers, int32_t y, const ConstImage& image,
                    const MutableImage& target);
};

template <Component kComponent, int32_t kChannels, bool kBent>
int32_t RowsOf<kComponent, kChannels, kBent>::load(const void* row, int32_t width,
                                                   const Reading& reading, Planes& planes,
                                                   int32_t y) {
  constexpr bool kAlwaysValid =
      !kFormat.has_alpha() && (kComponent == Component::kU8 || kComponent == Component::kU16);
  float* out[kMaxChannels] = {};
  for (int32_t c = 0; c < kFormat.colours(); ++c) out[c] = planes.at(c, planes.rect().x, y);
  const auto* pixel = static_cast<const uint8_t*>(row);
  int32_t invalid = 0;
  for (int32_t x = 0; x < width; ++x, pixel += kFormat.pixel_bytes()) {
    if (!kAlwaysValid) invalid += pixel_is_valid(pixel, kFormat, reading.valid) ? 0 : 1;
    Colour colour = load_values(pixel, kFormat);
    if (!kBent) colour = planes_of(colour, kFormat.colours());
    for (int32_t c = 0; c < kFormat.colours(); ++c) out[c][x] = colour.plane[c];
  }
  if (kBent) bend_colours(reading, planes.rect(), y, kFormat.colours(), {{out[0], out[1], out[2]}});
  return invalid;
}

template <Component kComponent, int32_t kChannels, bool kBent>
void RowsOf<kComponent, kChannels, kBent>::store(const Plan& plan, const Layers& layers, int32_t y,
                                                 const ConstImage& image,
                                                 const MutableImage& target) {
  constexpr int32_t kColours = kFormat.colours(), kBytes = kFormat.pixel_bytes();
  const Rect& out = target.rect;
  const auto* from = static_cast<const uint8_t*>(pixel_at(image, out.x, y));
  auto* to = static_cast<uint8_t*>(pixel_at(target, out.x, y));
  const ResultRow result(layers, plan.detail, out.x, y);
  const BentBack back(kBent ? &layers : nullptr, result, out, y);
  for (int32_t x = 0; x < out.width; ++x, from += kBytes, to += kBytes) {
    if (!pixel_is_valid(from, kFormat, plan.valid)) {
      std::memcpy(to, from, kBytes);
      continue;
    }
    const Colour colour = kBent ? back.template at<kColours>(x) : result.template at<kColours>(x);
    for (int32_t c = 0; c < kColours; ++c) store_component(to, kComponent, c, colour.plane[c]);
    if constexpr (kFormat.has_alpha()) {
      constexpr int32_t kAlpha = kFormat.component_bytes(), kAt = kColours * kAlpha;
      std::memcpy(to + kAt, from + kAt, kAlpha);
    }
  }
}

// use(RowsOf<...>()) of the plan's format.
template <Component kComponent, bool kBent, typename Use>
auto with_channels(int32_t channels, const Use& use) {
  switch (channels) {
    case 1:
      return use(RowsOf<kComponent, 1, kBent>());
    case 2:
      return use(RowsOf<kComponent, 2, kBent>());
    case 3:
      return use(RowsOf<kComponent, 3, kBent>());
    default:
      return use(RowsOf<kComponent, 4, kBent>());
  }
}

template <bool kBent, typename Use>
auto with_component(PixelFormat format, const Use& use) {
  switch (format.component) {
    case Component::kU8:
      return with_channels<Component::kU8, kBent>(format.channels, use);
    case Component::kU16:
      return with_channels<Component::kU16, kBent>(format.channels, use);
    case Component::kHalf:
      return with_channels<Component::kHalf, kBent>(format.channels, use);
    case Component::kFloat:
      break;
  }
  return with_channels<Component::kFloat, kBent>(format.channels, use);
}

template <typename Use>
auto with_rows(const Plan& plan, const Use& use) {
  return plan.bend.enabled != 0 ? with_component<true>(plan.format, use)
                                : with_component<false>(plan.format, use);
}

void fill_pixel(const ConstImage& image, const Reading& reading, int32_t x, int32_t y,
                Planes& planes) {
  const Rect window =
      intersect({x - kFillRadius, y - kFillRadius, 2 * kFillRadius + 1, 2 * kFillRadius + 1},
                {0, 0, image.width, image.height});
  double sum[kMaxChannels] = {};
  int32_t count = 0;
  for (int32_t wy = window.y; wy < window.bottom(); ++wy) {
    for (int32_t wx = window.x; wx < window.right(); ++wx) {
      const void* pixel = pixel_at(image, wx, wy);
      if (!pixel_is_valid(pixel, image.format, reading.valid)) continue;
      const float gain = gain_at(reading.field, wx, wy);
      const Colour colour = load_colour(pixel, image.format, reading, gain);
      for (int32_t c = 0; c < planes.channels(); ++c) sum[c] += colour.plane[c];
      ++count;
    }
  }
  for (int32_t c = 0; c < planes.channels(); ++c) {
    *planes.at(c, x, y) = count > 0 ? static_cast<float>(sum[c] / count) : reading.hidden[c];
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

}  // namespace

AbiTile source_tile(const ConstImage& image) {
  return {image.width, image.height,    image.rect, image.rect,
          image.data,  image.row_bytes, nullptr,    0};
}

Planes planes_from_pixels(const Plan& plan, const AbiTile& tile, const Rect& rect,
                          ThreadPool& pool) {
  const ConstImage image = source_image(plan, tile);
  const GainField field = field_of(plan.corners, image.width, image.height);
  const BendPieces pieces(plan.bend);
  const Reading reading{plan.valid, field, pieces, plan.hidden};
  const auto load = with_rows(plan, [](auto rows) { return &decltype(rows)::load; });
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
  const auto store = with_rows(plan, [](auto rows) { return &decltype(rows)::store; });
  const GainField field = field_of(plan.corners, image.width, image.height);
  const BendPieces pieces(plan.bend);
  const Layers layers{source, result, field, pieces};
  over_rows(tile.out, pool, [&](int32_t y) { store(plan, layers, y, image, target); });
}

}  // namespace grainless
