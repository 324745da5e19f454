// SPDX-License-Identifier: MIT
#include "fixed_colours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/boundary/pixel_math.h"

namespace grainless {
namespace {

using Colour = std::array<float, 3>;

constexpr int64_t kMostOthers = 50;  // one pixel in so many may be something else
constexpr size_t kLooks = 1000;      // pixels that tell most pictures from such

// Planes of luma and chroma don't keep the last bits of R, G and B.
bool is_same(float a, float b) {
  return std::abs(a - b) <= 2e-3f + 1e-5f * std::abs(b);
}

Colour colour_at(const SampleTile& tile, size_t at) {
  const auto& plane = tile.plane[0];
  const Rgb rgb = rgb_from_yuv({plane[0][at], plane[1][at], plane[2][at]});
  return {rgb.r, rgb.g, rgb.b};
}

// use(colour, state) of every step-th valid pixel.
template <typename Use>
void for_valid(Sample& sample, size_t step, const Use& use) {
  size_t next = 0;
  for (SampleTile& tile : sample.tiles) {
    const size_t pixels = tile.state.size();
    for (; next < pixels; next += step) {
      if ((tile.state[next] & kInvalid) == 0) use(colour_at(tile, next), tile.state[next]);
    }
    next -= pixels;
  }
}

struct Fixed {
  bool is = false;
  float value = 0;
};
using FixedColours = std::array<Fixed, 3>;

// Those of `candidates` that have their value in nearly all of the pixels looked at.
FixedColours still_fixed(Sample& sample, size_t step, FixedColours candidates) {
  int64_t pixels = 0;
  std::array<int64_t, 3> others{};
  for_valid(sample, step, [&](const Colour& colour, uint8_t&) {
    ++pixels;
    for (size_t c = 0; c < 3; ++c) others[c] += is_same(colour[c], candidates[c].value) ? 0 : 1;
  });
  for (size_t c = 0; c < 3; ++c) candidates[c].is = pixels > 0 && kMostOthers * others[c] <= pixels;
  return candidates;
}

size_t step_of(const Sample& sample) {
  size_t pixels = 0;
  for (const SampleTile& tile : sample.tiles) pixels += tile.state.size();
  return std::max<size_t>(1, pixels / kLooks);
}

// What a colour is all over, if anything, is its median.
FixedColours medians(Sample& sample, size_t step) {
  std::array<std::vector<float>, 3> values;
  for_valid(sample, step, [&](const Colour& colour, uint8_t&) {
    for (size_t c = 0; c < 3; ++c) values[c].push_back(colour[c]);
  });
  FixedColours found;
  for (size_t c = 0; c < 3; ++c) {
    if (values[c].empty()) continue;
    const auto middle = values[c].begin() + static_cast<ptrdiff_t>(values[c].size() / 2);
    std::nth_element(values[c].begin(), middle, values[c].end());
    found[c].value = *middle;
  }
  return found;
}

bool any_is(const FixedColours& fixed) {
  return std::any_of(fixed.begin(), fixed.end(), [](const Fixed& one) { return one.is; });
}

bool is_end(float value) {
  return is_same(value, 0) || is_same(value, 255);
}

void forgive_clipping(Sample& sample, const FixedColours& fixed) {
  for_valid(sample, 1, [&](const Colour& colour, uint8_t& state) {
    if ((state & kClipped) == 0) return;
    for (size_t c = 0; c < 3; ++c) {
      if (!fixed[c].is && is_end(colour[c])) return;
    }
    state &= static_cast<uint8_t>(~kClipped);
  });
}

}  // namespace

void find_fixed_colours(Sample& sample) {
  if (sample.channels != 3) return;
  const size_t step = step_of(sample);
  FixedColours fixed = still_fixed(sample, step, medians(sample, step));
  if (!any_is(fixed)) return;
  fixed = still_fixed(sample, 1, fixed);
  sample.fixed_colours = static_cast<int32_t>(
      std::count_if(fixed.begin(), fixed.end(), [](const Fixed& one) { return one.is; }));
  // Few stars in a black sky are no such picture.
  if (sample.fixed_colours == 3) sample.fixed_colours = 0;
  if (sample.fixed_colours > 0) forgive_clipping(sample, fixed);
}

}  // namespace grainless
