// SPDX-License-Identifier: MIT
// The one EXIF entry that a picture can't do without: which way up it is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace grainless::tools {

// 1..8, or 0 when the block (a TIFF structure) is damaged or does not say.
int32_t exif_orientation(std::span<const uint8_t> exif);

std::vector<uint8_t> exif_with_orientation(int32_t orientation);

}  // namespace grainless::tools
