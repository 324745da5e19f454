// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "image.h"
#include "tone_curve.h"

namespace grainless::tools {

// How samples stand for light by a PNG file's cICP chunk (PNG, third edition, 11.3.2.6), whose
// second byte is ITU-T H.273's code of the transfer characteristics; nothing without one, or by a
// code of another kind. `perceptual`: even steps of light, as seen, are nearly even steps of the
// samples, as they stand: sRGB, and the curves of HDR pictures (PQ and HLG).
struct PngCoding {
  bool perceptual = true;
  ToneCurve curve;
};
std::optional<PngCoding> png_coding(const std::vector<PngChunk>& codings);

}  // namespace grainless::tools
