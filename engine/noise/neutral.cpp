// SPDX-License-Identifier: MIT
#include "neutral.h"

#include <algorithm>
#include <cmath>

namespace grainless {
namespace {

constexpr float kNeutral = 0.02f;  // steps of chroma that rounding may leave

bool is_grey(const SampleTile& tile, size_t at) {
  return std::abs(tile.plane[0][1][at]) <= kNeutral && std::abs(tile.plane[0][2][at]) <= kNeutral;
}

}  // namespace

bool is_neutral(const Sample& sample) {
  if (sample.channels != 3) return false;
  int64_t pixels = 0, invalid = 0, coloured = 0;
  for (const SampleTile& tile : sample.tiles) pixels += static_cast<int64_t>(tile.state.size());
  for (const SampleTile& tile : sample.tiles) {
    // A colour photograph's first tiles tell.
    if (100 * coloured > pixels) return false;
    for (size_t i = 0; i < tile.state.size(); ++i) {
      if ((tile.state[i] & kInvalid) != 0) {
        ++invalid;
      } else if (!is_grey(tile, i)) {
        ++coloured;
      }
    }
  }
  return 100 * coloured <= pixels - invalid;
}

Sample grey_sample(const Sample& sample) {
  Sample grey;
  grey.channels = 1;
  grey.clipped_share = sample.clipped_share;
  for (const SampleTile& tile : sample.tiles) {
    SampleTile& one = grey.tiles.emplace_back();
    one.x = tile.x;
    one.y = tile.y;
    one.width = tile.width;
    one.height = tile.height;
    one.state = tile.state;
    one.plane[0][0].resize(tile.state.size());
    for (size_t i = 0; i < tile.state.size(); ++i) {
      one.plane[0][0][i] = tile.plane[0][0][i] / kLumaOfGrey;
      if (!is_grey(tile, i)) one.state[i] |= kInvalid;
    }
    make_levels(one, 1);
  }
  return grey;
}

NoiseModel neutral_noise(const NoiseModel& grey) {
  NoiseModel noise = grey;
  noise.channels = 3;
  for (auto& level : noise.sigma) {
    level[0] *= kLumaOfGrey;
    level[1] = level[2] = 0;
  }
  return noise;
}

}  // namespace grainless
