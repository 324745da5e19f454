// SPDX-License-Identifier: MIT
#include "png_coding.h"

#include <algorithm>
#include <cmath>

namespace grainless::tools {
namespace {

// H.273, table 3.
enum Transfer : uint8_t {
  kBt709 = 1,
  kGamma22 = 4,
  kGamma28 = 5,
  kBt601 = 6,
  kLinear = 8,
  kSrgb = 13,
  kBt2020Of10Bits = 14,
  kBt2020Of12Bits = 15,
  kPq = 16,
  kHlg = 18,
};

double light_from_bt709(double value) {
  return value < 0.081 ? value / 4.5 : std::pow((value + 0.099) / 1.099, 1 / 0.45);
}

}  // namespace

std::optional<PngCoding> png_coding(const std::vector<PngChunk>& codings) {
  const auto coding = std::find_if(codings.begin(), codings.end(), [](const PngChunk& chunk) {
    return chunk.name == "cICP" && chunk.bytes.size() == 4;
  });
  if (coding == codings.end()) return {};
  switch (coding->bytes[1]) {
    case kBt709:
    case kBt601:
    case kBt2020Of10Bits:
    case kBt2020Of12Bits:
      return PngCoding{false, ToneCurve::formula(light_from_bt709)};
    case kGamma22:
      return PngCoding{false, ToneCurve::power(2.2)};
    case kGamma28:
      return PngCoding{false, ToneCurve::power(2.8)};
    case kLinear:
      return PngCoding{false, ToneCurve()};
    case kSrgb:
    case kPq:
    case kHlg:
      return PngCoding{};
    default:
      return {};
  }
}

}  // namespace grainless::tools
