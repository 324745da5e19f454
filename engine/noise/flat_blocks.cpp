// SPDX-License-Identifier: MIT
#include "flat_blocks.h"

#include <algorithm>
#include <cmath>

namespace grainless {
namespace {

constexpr double kPercentile =
    0.3;  // of the flat blocks' variances: texture makes outliers upwards
constexpr double kToneSpread = 1.5;  // most that noise grows from dark to middle tones, about
// How far noise may exceed what the calmest class shows, and the second: the calmest may be black.
constexpr double kOverCalmest = 5.0, kOverSecond = 1.2;
constexpr double kLowest = 0.01;
constexpr int32_t kRegion = 64;  // pixels a side
constexpr double kCalmRegions = 0.03, kMostRegions = 0.9;

// Of the blocks' variances at one level.
double variance_quantile(const std::vector<FlatBlock>& blocks, int32_t level, double share) {
  return quantile(blocks, share, [&](const FlatBlock& block) { return block.variance[level]; });
}

}  // namespace

std::vector<FlatBlock> measure_blocks(const Sample& sample, int32_t channel, int32_t side,
                                      int32_t levels, ThreadPool& pool) {
  std::vector<SurfaceBasis> bases;
  for (int32_t l = 0; l < levels; ++l) bases.emplace_back(side >> l);
  return all_blocks<FlatBlock>(sample, pool, [&](const SampleTile& tile) {
    std::vector<float> values(static_cast<size_t>(side) * side);
    return tile_blocks<FlatBlock>(tile, side, sample.clipped_share,
                                  [&](int32_t x, int32_t y, FlatBlock& to) {
                                    for (int32_t l = 0; l < levels; ++l) {
                                      gather(tile, {l, channel, x, y}, side >> l, values);
                                      to.variance[l] = residual_variance(values, bases[l]);
                                    }
                                  });
  });
}

FlatNoise flat_block_noise(const Sample& sample, int32_t channel, int32_t side, ThreadPool& pool) {
  std::vector<FlatBlock> blocks = measure_blocks(sample, channel, side, kSampleLevels, pool);
  FlatNoise noise;
  if (blocks.size() < kFewestSquares) return noise;
  const double lowest = variance_quantile(blocks, 0, kLowest);
  std::vector<double> level[kSampleLevels];
  const size_t tones = for_each_tone(blocks, [&](auto first, auto last) {
    for (int32_t l = 0; l < kSampleLevels; ++l) {
      const auto variance = [l](const FlatBlock& block) { return block.variance[l]; };
      level[l].push_back(std::sqrt(quantile(first, last, kPercentile, variance)));
    }
  });
  // Noise of a camera varies little between the tones but for the darkest and brightest; texture
  // lifts some classes far above the others.
  for (int32_t l = 0; l < kSampleLevels; ++l) {
    std::sort(level[l].begin(), level[l].end());
    const double median = 0.5 * (level[l][(tones - 1) / 2] + level[l][tones / 2]);
    noise.sigma[l] = std::min(median, kToneSpread * level[l][std::min<size_t>(2, tones - 1)]);
  }
  noise.lowest = std::sqrt(lowest);
  noise.calmest =
      tones == 1 ? level[0][0] : std::min(kOverCalmest * level[0][0], kOverSecond * level[0][1]);
  return noise;
}

double flat_luma(const Sample& sample, ThreadPool& pool) {
  return flat_block_noise(sample, 0, 16, pool).sigma[0];
}

RegionNoise region_noise(const Sample& sample, int32_t channel, ThreadPool& pool) {
  const std::vector<FlatBlock> regions =
      measure_blocks(sample, channel, kRegion, kSampleLevels, pool);
  RegionNoise noise;
  if (regions.empty()) return noise;
  noise.calm = std::sqrt(variance_quantile(regions, 0, kCalmRegions));
  noise.most = std::sqrt(variance_quantile(regions, 0, kMostRegions));
  noise.coarse = std::sqrt(variance_quantile(regions, kSampleLevels - 1, kCalmRegions));
  return noise;
}

}  // namespace grainless
