// SPDX-License-Identifier: MIT
#include "preview_conversion.h"

#include <map>
#include <mutex>
#include <utility>

namespace grainless {
namespace {

constexpr uint32_t kOpaque = 255;

uint32_t multiplied(uint32_t value, uint32_t alpha) {
  return (value * alpha + 127) / 255;
}

// Alpha is multiplied in.
uint32_t packed(uint32_t red, uint32_t green, uint32_t blue, uint32_t alpha) {
  return alpha << 24 | multiplied(red, alpha) << 16 | multiplied(green, alpha) << 8 |
         multiplied(blue, alpha);
}

bool is_opaque(const Babl* format) {
  return babl_format_get_n_components(format) % 2 == 1;
}

// What babl makes of each 16-bit value: both formats have the same primaries, so that channels
// don't mix, and alpha is multiplied into none of them.
std::shared_ptr<const PreviewConversion::Tables> make_tables(const Babl* format,
                                                             const Babl* preview) {
  constexpr int32_t kValues = 1 << 16, kAtOnce = 1 << 8;
  const int channels = babl_format_get_n_components(format);
  const int shown = babl_format_get_n_components(preview);
  const Babl* fish = babl_fish(format, preview);
  auto tables = std::make_shared<PreviewConversion::Tables>(channels);
  std::vector<uint8_t> found(static_cast<size_t>(kAtOnce) * shown);
  for (int c = 0; c < channels; ++c) {
    std::vector<uint16_t> values(static_cast<size_t>(kAtOnce) * channels, UINT16_MAX);
    const bool alpha = c == channels - 1 && !is_opaque(format);
    for (int32_t start = 0; start < kValues; start += kAtOnce) {
      for (int32_t i = 0; i < kAtOnce; ++i) {
        values[static_cast<size_t>(i) * channels + c] = static_cast<uint16_t>(start + i);
      }
      babl_process(fish, values.data(), found.data(), kAtOnce);
      const int of = alpha ? shown - 1 : c;
      for (int32_t i = 0; i < kAtOnce; ++i) (*tables)[c][start + i] = found[i * shown + of];
    }
  }
  return tables;
}

// They take 5 ms to make, and each layer of a picture asks for the same.
std::shared_ptr<const PreviewConversion::Tables> tables_for(const Babl* format,
                                                            const Babl* preview) {
  static std::mutex mutex;
  static std::map<std::pair<const Babl*, const Babl*>,
                  std::shared_ptr<const PreviewConversion::Tables>>
      made;
  const std::lock_guard lock(mutex);
  auto& tables = made[{format, preview}];
  if (!tables) tables = make_tables(format, preview);
  return tables;
}

}  // namespace

PreviewConversion::PreviewConversion(const Encoding& encoding, const Babl* format)
    : channels_(babl_format_get_n_components(format)),
      preview_channels_(babl_format_get_n_components(encoding.preview)),
      opaque_(is_opaque_form(format, encoding.preview)),
      fish_(babl_fish(format, encoding.preview)) {
  if (babl_format_get_type(format, 0) == babl_type("u16")) {
    deep_ = tables_for(format, encoding.preview);
  }
}

void PreviewConversion::convert(const void* pixels, uint32_t* preview, int32_t count) const {
  if (opaque_) return convert_opaque(static_cast<const uint8_t*>(pixels), preview, count);
  if (deep_) return convert_deep(static_cast<const uint16_t*>(pixels), preview, count);
  convert_any(pixels, preview, count);
}

// Nothing to convert, which babl has only a slow way for (80 ns a pixel).
void PreviewConversion::convert_opaque(const uint8_t* values, uint32_t* preview,
                                       int32_t count) const {
  const int green = channels_ > 2 ? 1 : 0, blue = 2 * green;
  for (; count > 0; --count, values += channels_) {
    *preview++ = packed(values[0], values[green], values[blue], kOpaque);
  }
}

void PreviewConversion::convert_deep(const uint16_t* values, uint32_t* preview,
                                     int32_t count) const {
  const Tables& table = *deep_;
  const int green = channels_ > 2 ? 1 : 0, blue = 2 * green;
  const bool has_alpha = channels_ % 2 == 0;
  for (; count > 0; --count, values += channels_) {
    const uint32_t alpha = has_alpha ? table[channels_ - 1][values[channels_ - 1]] : kOpaque;
    *preview++ =
        packed(table[0][values[0]], table[green][values[green]], table[blue][values[blue]], alpha);
  }
}

void PreviewConversion::convert_any(const void* pixels, uint32_t* preview, int32_t count) const {
  std::vector<uint8_t> kept(static_cast<size_t>(count) * preview_channels_);
  babl_process(fish_, pixels, kept.data(), count);
  const int green = preview_channels_ > 2 ? 1 : 0, blue = 2 * green;
  const uint8_t* values = kept.data();
  for (; count > 0; --count, values += preview_channels_) {
    *preview++ = packed(values[0], values[green], values[blue], values[preview_channels_ - 1]);
  }
}

}  // namespace grainless
