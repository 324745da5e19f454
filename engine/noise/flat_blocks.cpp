// SPDX-License-Identifier: MIT
#include "flat_blocks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace grainless {
namespace {

constexpr int32_t kCoarse = 2;      // the level on which flatness is judged
constexpr int32_t kTones = 8;       // classes of brightness, equally many blocks each
constexpr double kFlattest = 0.05;  // share of a class that counts as flat
constexpr int32_t kFewest = 6;      // blocks of a class, at least
constexpr double kPercentile =
    0.3;  // of the flat blocks' variances: texture makes outliers upwards
constexpr double kToneSpread = 1.5;  // most that noise grows from dark to middle tones, about
// How far noise may exceed what the calmest class shows, and the second: the calmest may be black.
constexpr double kOverCalmest = 5.0, kOverSecond = 1.2;
constexpr double kLowest = 0.01;
constexpr int32_t kRegion = 64;  // pixels a side
constexpr double kCalmRegions = 0.03, kMostRegions = 0.9;
constexpr int32_t kTerms = 6;  // of a quadratic surface

// Orthonormal quadratic surfaces over side x side samples: what remains after subtracting them is
// noise even where brightness bends.
std::vector<double> quadratic_basis(int32_t side) {
  const int32_t pixels = side * side;
  std::vector<double> basis(static_cast<size_t>(kTerms) * pixels);
  for (int32_t i = 0; i < pixels; ++i) {
    const double x = i % side - 0.5 * (side - 1), y = i / side - 0.5 * (side - 1);
    const double terms[kTerms] = {1, x, y, x * x, x * y, y * y};
    for (int32_t t = 0; t < kTerms; ++t) basis[t * pixels + i] = terms[t];
  }
  for (int32_t t = 0; t < kTerms; ++t) {  // Gram and Schmidt
    double* row = basis.data() + t * pixels;
    for (int32_t s = 0; s < t; ++s) {
      const double* other = basis.data() + s * pixels;
      const double dot = std::inner_product(row, row + pixels, other, 0.0);
      for (int32_t i = 0; i < pixels; ++i) row[i] -= dot * other[i];
    }
    const double norm = std::sqrt(std::inner_product(row, row + pixels, row, 0.0));
    for (int32_t i = 0; i < pixels; ++i) row[i] /= norm;
  }
  return basis;
}

struct Basis {
  int32_t side;
  std::vector<float> rows;  // kTerms x side^2

  explicit Basis(int32_t s) : side(s) {
    for (double value : quadratic_basis(s)) rows.push_back(static_cast<float>(value));
  }
};

// A channel's pixels at a level, from (x, y) of full resolution on.
struct Place {
  int32_t level, channel, x, y;
};

void gather(const SampleTile& tile, const Place& from, int32_t side, std::vector<float>& values) {
  const ptrdiff_t width = tile.width_at(from.level);
  const float* plane = tile.plane[from.level][from.channel].data() +
                       (from.y >> from.level) * width + (from.x >> from.level);
  for (int32_t y = 0; y < side; ++y) {
    std::copy(plane + y * width, plane + y * width + side,
              values.begin() + static_cast<ptrdiff_t>(y) * side);
  }
}

// Variance about the mean, and the mean.
float plain_variance(const std::vector<float>& values, int32_t pixels, float& mean) {
  mean =
      std::accumulate(values.begin(), values.begin() + pixels, 0.0f) / static_cast<float>(pixels);
  float sum = 0;
  for (int32_t i = 0; i < pixels; ++i) sum += (values[i] - mean) * (values[i] - mean);
  return sum / static_cast<float>(pixels);
}

// Sums of kLanes interleaved parts, which compilers make vectors of: a single sum's additions wait
// for each other.
float dot_product(const float* a, const float* b, int32_t count) {
  constexpr int32_t kLanes = 8;
  float part[kLanes] = {};
  int32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int32_t lane = 0; lane < kLanes; ++lane) part[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) part[0] += a[i] * b[i];
  for (int32_t half = kLanes / 2; half > 0; half /= 2) {
    for (int32_t lane = 0; lane < half; ++lane) part[lane] += part[lane + half];
  }
  return part[0];
}

// Leaves what differs from the best quadratic surface; returns its variance.
float residual_variance(std::vector<float>& values, const Basis& basis) {
  const int32_t pixels = basis.side * basis.side;
  for (int32_t t = 0; t < kTerms; ++t) {
    const float* row = basis.rows.data() + static_cast<size_t>(t) * pixels;
    const float dot = dot_product(row, values.data(), pixels);
    for (int32_t i = 0; i < pixels; ++i) values[i] -= dot * row[i];
  }
  return dot_product(values.data(), values.data(), pixels) / static_cast<float>(pixels - kTerms);
}

// The tile's blocks that can be measured; `measure` adds to each what else it shows at (x, y).
template <typename Measure>
std::vector<FlatBlock> tile_blocks(const SampleTile& tile, int32_t side, double clipped_share,
                                   const Measure& measure) {
  std::vector<FlatBlock> blocks;
  const int32_t coarse = side >> kCoarse;
  std::vector<float> values(static_cast<size_t>(coarse) * coarse);
  for (int32_t y = 0; y + side <= tile.height; y += side / 2) {
    for (int32_t x = 0; x + side <= tile.width; x += side / 2) {
      if (!measurable(tile, x, y, side, clipped_share)) continue;
      if (count_state(tile, x, y, side, kRepeated) == side * side) continue;
      FlatBlock block{};
      gather(tile, {kCoarse, 0, x, y}, coarse, values);
      block.structure = plain_variance(values, coarse * coarse, block.brightness);
      measure(x, y, block);
      blocks.push_back(block);
    }
  }
  return blocks;
}

// The blocks of all tiles, in the tiles' order.
template <typename OfTile>
std::vector<FlatBlock> all_blocks(const Sample& sample, ThreadPool& pool, const OfTile& of_tile) {
  std::vector<std::vector<FlatBlock>> parts(sample.tiles.size());
  pool.parallel_for(static_cast<int32_t>(parts.size()),
                    [&](int32_t i, int32_t) { parts[i] = of_tile(sample.tiles[i]); });
  std::vector<FlatBlock> blocks;
  for (const auto& part : parts) blocks.insert(blocks.end(), part.begin(), part.end());
  return blocks;
}

using Blocks = std::vector<FlatBlock>::iterator;

// A class's flattest blocks come first; returns their end.
Blocks find_flattest(Blocks first, Blocks last) {
  const auto count = last - first;
  const auto flat = std::min<ptrdiff_t>(
      count,
      std::max<ptrdiff_t>(kFewest, static_cast<ptrdiff_t>(kFlattest * static_cast<double>(count))));
  std::stable_sort(first, last, [](const FlatBlock& a, const FlatBlock& b) {
    return a.structure < b.structure;
  });
  return first + flat;
}

// Gives the flattest blocks of each class of brightness to use(first, last); how many classes.
template <typename Use>
size_t for_each_tone(std::vector<FlatBlock>& blocks, const Use& use) {
  std::stable_sort(blocks.begin(), blocks.end(), [](const FlatBlock& a, const FlatBlock& b) {
    return a.brightness < b.brightness;
  });
  const size_t tones = std::clamp<size_t>(blocks.size() / kFewest, 1, kTones);
  for (size_t tone = 0; tone < tones; ++tone) {
    const Blocks first = blocks.begin() + tone * blocks.size() / tones;
    use(first, find_flattest(first, blocks.begin() + (tone + 1) * blocks.size() / tones));
  }
  return tones;
}

// The determinant of the channels' correlations, and so 1 less what they share.
float apart(const std::vector<float> (&residual)[3], int32_t pixels) {
  constexpr float kNothing = 1e-6f;  // added to products of variances
  const auto product = [&](int32_t a, int32_t b) {
    return dot_product(residual[a].data(), residual[b].data(), pixels) /
           static_cast<float>(pixels - kTerms);
  };
  const float variance[3] = {product(0, 0), product(1, 1), product(2, 2)};
  const auto correlation = [&](int32_t a, int32_t b) {
    return product(a, b) / std::sqrt(variance[a] * variance[b] + kNothing);
  };
  const float yu = correlation(0, 1), yv = correlation(0, 2), uv = correlation(1, 2);
  return 1 - yu * yu - yv * yv - uv * uv + 2 * yu * yv * uv;
}

// A level's lower percentile of the variances.
double lower_variance(Blocks first, Blocks last, int32_t level) {
  std::vector<float> sorted;
  for (Blocks block = first; block != last; ++block) sorted.push_back(block->variance[level]);
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<size_t>(kPercentile * static_cast<double>(sorted.size() - 1))];
}

// Of the blocks' variances at one level.
double quantile(const std::vector<FlatBlock>& blocks, int32_t level, double share) {
  std::vector<float> variances;
  for (const FlatBlock& block : blocks) variances.push_back(block.variance[level]);
  const auto at =
      variances.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(blocks.size() - 1));
  std::nth_element(variances.begin(), at, variances.end());
  return *at;
}

}  // namespace

std::vector<FlatBlock> measure_blocks(const Sample& sample, int32_t channel, int32_t side,
                                      int32_t levels, ThreadPool& pool) {
  std::vector<Basis> bases;
  for (int32_t l = 0; l < levels; ++l) bases.emplace_back(side >> l);
  return all_blocks(sample, pool, [&](const SampleTile& tile) {
    std::vector<float> values(static_cast<size_t>(side) * side);
    return tile_blocks(tile, side, sample.clipped_share, [&](int32_t x, int32_t y, FlatBlock& to) {
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
  if (blocks.size() < kFewest) return noise;
  const double lowest = quantile(blocks, 0, kLowest);
  std::vector<double> level[kSampleLevels];
  const size_t tones = for_each_tone(blocks, [&](Blocks first, Blocks last) {
    for (int32_t l = 0; l < kSampleLevels; ++l) {
      level[l].push_back(std::sqrt(lower_variance(first, last, l)));
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

double colours_apart(const Sample& sample, int32_t side, ThreadPool& pool) {
  constexpr double kMostBlocks = 0.75;
  const Basis basis(side >> kCoarse);
  const int32_t pixels = basis.side * basis.side;
  std::vector<FlatBlock> blocks = all_blocks(sample, pool, [&](const SampleTile& tile) {
    std::vector<float> residual[3];
    for (std::vector<float>& values : residual) values.resize(pixels);
    return tile_blocks(tile, side, sample.clipped_share, [&](int32_t x, int32_t y, FlatBlock& to) {
      for (int32_t c = 0; c < 3; ++c) {
        gather(tile, {kCoarse, c, x, y}, basis.side, residual[c]);
        residual_variance(residual[c], basis);
      }
      to.apart = apart(residual, pixels);
    });
  });
  if (blocks.size() < kFewest) return 1;
  std::vector<float> found;
  for_each_tone(blocks, [&](Blocks first, Blocks last) {
    for (Blocks block = first; block != last; ++block) found.push_back(block->apart);
  });
  std::sort(found.begin(), found.end());
  return found[static_cast<size_t>(kMostBlocks * static_cast<double>(found.size() - 1))];
}

RegionNoise region_noise(const Sample& sample, int32_t channel, ThreadPool& pool) {
  const std::vector<FlatBlock> regions =
      measure_blocks(sample, channel, kRegion, kSampleLevels, pool);
  RegionNoise noise;
  if (regions.empty()) return noise;
  noise.calm = std::sqrt(quantile(regions, 0, kCalmRegions));
  noise.most = std::sqrt(quantile(regions, 0, kMostRegions));
  noise.coarse = std::sqrt(quantile(regions, kSampleLevels - 1, kCalmRegions));
  return noise;
}

}  // namespace grainless
