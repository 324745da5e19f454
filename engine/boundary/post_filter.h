// SPDX-License-Identifier: MIT
// The learned post-filter: what BM3D's last stage leaves of the finest level's luma is corrected by
// a small convolutional network, learned from photographs (docs/post-filter.md), as video codecs
// correct what their coding lost. It sees kPostFilterReach pixels around, removes what is left of
// the noise, and gives detail back that the noisy picture still shows.
//
// With Y the noisy luma, E the last stage's estimate and m the mean of 5 x 5 pixels of E, its two
// inputs are s((Y - E) / sigma) and s((E - m) / sigma), s(v) = v / (1 + |v| / 8). Four convolutions
// of 3 x 3 pixels follow, 2 -> 16 -> 16 -> 16 -> 1 channels, without biases, with max(v, 0) between
// them. The last one's output d corrects E by sigma * clamp(d, -0.25, 0.25): where Y = E are flat
// nothing changes, and no pixel changes by more than a quarter of sigma: pictures like none that it
// learned from are not to be ruined.
//
// Inputs, weights and what lies between convolutions are rounded to half precision, so that their
// products are exact in float: backends differ by the order of sums alone. Pixels beyond the
// image's border are those of the border.
#pragma once

#include <cstdint>

#include "pixel_math.h"

namespace grainless {

inline constexpr int32_t kPostFilterChannels = 16, kPostFilterInputs = 2;
inline constexpr int32_t kPostFilterTaps = 9;  // 3 x 3, row by row
inline constexpr int32_t kPostFilterConvolutions = 4;
inline constexpr int32_t kPostFilterMeanRadius = 2;
// Pixels round a pixel of Y and E that its correction depends on.
inline constexpr int32_t kPostFilterReach = kPostFilterConvolutions + kPostFilterMeanRadius;
// The largest correction, in sigmas: of photographs' pixels one of a thousand would have a larger
// one.
inline constexpr float kPostFilterBound = 0.25f;
// Lest what lies between convolutions leaves the range of half precision: no picture comes near.
inline constexpr float kPostFilterMost = 4096.0f;

// Bits of half precision; a convolution after the other, of each [output][input][tap].
inline constexpr uint16_t kPostFilterWeights[] = {
#include "post_filter_weights.inc"
};
inline constexpr int32_t kPostFilterFirst = 0;
inline constexpr int32_t kPostFilterSecond =
    kPostFilterFirst + kPostFilterChannels * kPostFilterInputs * kPostFilterTaps;
inline constexpr int32_t kPostFilterThird =
    kPostFilterSecond + kPostFilterChannels * kPostFilterChannels * kPostFilterTaps;
inline constexpr int32_t kPostFilterLast =
    kPostFilterThird + kPostFilterChannels * kPostFilterChannels * kPostFilterTaps;
static_assert(sizeof(kPostFilterWeights) / sizeof(kPostFilterWeights[0]) ==
              kPostFilterLast + kPostFilterChannels * kPostFilterTaps);

// s(v); |v| up to kPostFilterWidest, where s is 8 to the last bit of half precision.
inline constexpr float kPostFilterWidest = 1e6f;
GRAINLESS_HD float post_filter_input(float v) {
  v = clamp_to(v, -kPostFilterWidest, kPostFilterWidest);
  return v / (1.0f + fabsf(v) * 0.125f);
}

}  // namespace grainless
