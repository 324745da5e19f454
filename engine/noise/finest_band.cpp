// SPDX-License-Identifier: MIT
#include "finest_band.h"

#include <algorithm>
#include <cmath>

namespace grainless {
namespace {

constexpr int32_t kAround = 4;      // pixels round a block that belong to its structure
constexpr double kMedian = 1.4826;  // sigma of normal noise over the median of its sizes

// Mean and variance of luma at quarter resolution, of the block and what lies round it.
void look_at(const SampleTile& tile, int32_t x, int32_t y, BandBlock& block) {
  const int32_t width = tile.width_at(2), side = (kBandBlock + 2 * kAround) / 4;
  double sum = 0, squares = 0;
  for (int32_t j = (y - kAround) / 4; j < (y - kAround) / 4 + side; ++j) {
    for (int32_t i = (x - kAround) / 4; i < (x - kAround) / 4 + side; ++i) {
      const double value = tile.plane[2][0][static_cast<size_t>(j) * width + i];
      sum += value;
      squares += value * value;
    }
  }
  const double count = side * side;
  block.brightness = sum / count;
  block.structure = squares / count - block.brightness * block.brightness;
}

// Second differences along both axes, of unit gain for white noise.
float finest(const std::vector<float>& plane, int32_t width, size_t at) {
  const auto row = [&](size_t i) { return plane[i - 1] - 2 * plane[i] + plane[i + 1]; };
  return (row(at - width) - 2 * row(at) + row(at + width)) / 6.0f;
}

}  // namespace

std::vector<BandBlock> band_blocks(const SampleTile& tile, int32_t channel, double clipped_share) {
  std::vector<BandBlock> blocks;
  for (int32_t y = kBandBlock; y + kBandBlock + kAround <= tile.height; y += kBandBlock) {
    for (int32_t x = kBandBlock; x + kBandBlock + kAround <= tile.width; x += kBandBlock) {
      const int32_t side = kBandBlock + 2 * kAround;
      if (!measurable(tile, x - kAround, y - kAround, side, clipped_share)) continue;
      if (count_state(tile, x, y, kBandBlock, kRepeated) == kBandBlock * kBandBlock) continue;
      BandBlock block{tile.x + x, tile.y + y, 0, 0, {}};
      look_at(tile, x, y, block);
      for (int32_t j = y; j < y + kBandBlock; ++j) {
        for (int32_t i = x; i < x + kBandBlock; ++i) {
          const size_t at = static_cast<size_t>(j) * tile.width + i;
          block.band.push_back(std::abs(finest(tile.plane[0][channel], tile.width, at)));
        }
      }
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

BandNoise flattest_band(std::vector<BandBlock>& blocks, double share, size_t fewest) {
  std::stable_sort(blocks.begin(), blocks.end(), [](const BandBlock& a, const BandBlock& b) {
    return a.structure < b.structure;
  });
  BandNoise noise;
  noise.blocks = std::max(fewest, static_cast<size_t>(share * static_cast<double>(blocks.size())));
  std::vector<float> band;
  for (size_t i = 0; i < noise.blocks; ++i) {
    band.insert(band.end(), blocks[i].band.begin(), blocks[i].band.end());
    noise.brightness += blocks[i].brightness / static_cast<double>(noise.blocks);
  }
  const auto middle = band.begin() + static_cast<ptrdiff_t>(band.size() / 2);
  std::nth_element(band.begin(), middle, band.end());
  noise.sigma = kMedian * *middle;
  return noise;
}

}  // namespace grainless
