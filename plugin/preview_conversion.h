// SPDX-License-Identifier: MIT
// From a drawable's pixels, or the engine's, to those that the dialog draws.
#pragma once

#include <babl/babl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "encoding.h"

namespace grainless {

// Gives what babl makes of the pixels in Encoding::preview, without asking babl for each of them
// where a colour's preview depends on that colour alone. May be used by several threads at once.
class PreviewConversion {
 public:
  // From `format`: the encoding's native or engine's one.
  PreviewConversion(const Encoding& encoding, const Babl* format);

  // `count` pixels as ui::Bitmap has them.
  void convert(const void* pixels, uint32_t* preview, int32_t count) const;

  // The 8-bit value of each 16-bit one, a table a channel.
  using Tables = std::vector<std::array<uint8_t, 1 << 16>>;

 private:
  void convert_opaque(const uint8_t* values, uint32_t* preview, int32_t count) const;
  void convert_deep(const uint16_t* values, uint32_t* preview, int32_t count) const;
  void convert_any(const void* pixels, uint32_t* preview, int32_t count) const;

  const int channels_, preview_channels_;
  const bool opaque_;  // the same 8 bits without alpha
  const Babl* fish_;
  std::shared_ptr<const Tables> deep_;  // of 16-bit integers alone
};

}  // namespace grainless
