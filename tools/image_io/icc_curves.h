// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tone_curve.h"

namespace grainless::tools {

// The tone curves of an ICC profile (ICC.1, 9.2 and 10.6 curveType, 10.18 parametricCurveType): one
// for grey, or red, green and blue. Where it has none that a picture of `colours` can use, curves
// is empty and `why` says what the matter is, as the end of a sentence about the profile.
struct IccCurves {
  std::vector<ToneCurve> curves;
  std::string why;
};
IccCurves read_icc_curves(const std::vector<uint8_t>& profile, int32_t colours);

}  // namespace grainless::tools
