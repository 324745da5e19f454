// SPDX-License-Identifier: MIT
// What measurements in square blocks share: which blocks there are, the flattest of each tone, and
// what a block holds besides a smooth surface.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "sample.h"

namespace grainless {

inline constexpr int32_t kFlatnessLevel = 2;  // on which flatness is judged
inline constexpr int32_t kFewestSquares = 6;  // that are measured, and of a class of brightness
inline constexpr int32_t kSurfaceTerms = 6;   // of a quadratic surface

// Orthonormal quadratic surfaces over side x side samples: what remains after subtracting them is
// noise even where brightness bends.
struct SurfaceBasis {
  int32_t side;
  std::vector<float> rows;  // kSurfaceTerms x side^2

  explicit SurfaceBasis(int32_t side);
};

// A channel's pixels at a level, from (x, y) of full resolution on.
struct BlockPlace {
  int32_t level, channel, x, y;
};

// Copies side x side pixels of the level.
void gather(const SampleTile& tile, const BlockPlace& from, int32_t side,
            std::vector<float>& values);

// Variance of the first `pixels` about their mean, and the mean.
float plain_variance(const std::vector<float>& values, int32_t pixels, float& mean);

float dot_product(const float* a, const float* b, int32_t count);

// Leaves what differs from the best quadratic surface; returns its variance.
float residual_variance(std::vector<float>& values, const SurfaceBasis& basis);

// Of what is measured in blocks.
struct SquareBlock {
  float brightness, structure;  // mean and variance of luma at quarter resolution
};

// The tile's blocks of `side` pixels of full resolution (a multiple of 8), half of a side apart,
// that can be measured and don't repeat their pixels throughout. Block is a SquareBlock and what
// measure(x, y, block) adds.
template <typename Block, typename Measure>
std::vector<Block> tile_blocks(const SampleTile& tile, int32_t side, double clipped_share,
                               const Measure& measure) {
  std::vector<Block> blocks;
  const int32_t coarse = side >> kFlatnessLevel;
  std::vector<float> values(static_cast<size_t>(coarse) * coarse);
  for (int32_t y = 0; y + side <= tile.height; y += side / 2) {
    for (int32_t x = 0; x + side <= tile.width; x += side / 2) {
      if (!measurable(tile, x, y, side, clipped_share)) continue;
      if (count_state(tile, x, y, side, kRepeated) == side * side) continue;
      Block block{};
      gather(tile, {kFlatnessLevel, 0, x, y}, coarse, values);
      block.structure = plain_variance(values, coarse * coarse, block.brightness);
      measure(x, y, block);
      blocks.push_back(block);
    }
  }
  return blocks;
}

// The blocks that of_tile(tile) finds in all tiles, in the tiles' order.
template <typename Block, typename OfTile>
std::vector<Block> all_blocks(const Sample& sample, ThreadPool& pool, const OfTile& of_tile) {
  std::vector<std::vector<Block>> parts(sample.tiles.size());
  pool.parallel_for(static_cast<int32_t>(parts.size()),
                    [&](int32_t i, int32_t) { parts[i] = of_tile(sample.tiles[i]); });
  std::vector<Block> blocks;
  for (const auto& part : parts) blocks.insert(blocks.end(), part.begin(), part.end());
  return blocks;
}

// Sorts blocks into classes of brightness, equally many each, and gives a class's flattest ones to
// use(first, last); returns how many classes there are.
template <typename Block, typename Use>
size_t for_each_tone(std::vector<Block>& blocks, const Use& use) {
  constexpr size_t kTones = 8;
  constexpr double kFlattest = 0.05;  // share of a class that counts as flat
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.brightness < b.brightness; });
  const size_t tones = std::clamp<size_t>(blocks.size() / kFewestSquares, 1, kTones);
  for (size_t tone = 0; tone < tones; ++tone) {
    const auto first = blocks.begin() + tone * blocks.size() / tones;
    const auto last = blocks.begin() + (tone + 1) * blocks.size() / tones;
    std::stable_sort(first, last,
                     [](const Block& a, const Block& b) { return a.structure < b.structure; });
    const auto share = static_cast<ptrdiff_t>(kFlattest * static_cast<double>(last - first));
    use(first, first + std::min(last - first, std::max<ptrdiff_t>(kFewestSquares, share)));
  }
  return tones;
}

// What that share of the blocks from first to last, which are not none, stays under of
// value(block). NaN, which sorting can't bear and only floats beyond all pictures give, counts as
// 0.
template <typename Iterator, typename Value>
double quantile(Iterator first, Iterator last, double share, const Value& value) {
  std::vector<double> values;
  for (auto block = first; block != last; ++block) {
    const double known = value(*block);
    values.push_back(std::isnan(known) ? 0.0 : known);
  }
  const auto at =
      values.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

template <typename Block, typename Value>
double quantile(const std::vector<Block>& blocks, double share, const Value& value) {
  return quantile(blocks.begin(), blocks.end(), share, value);
}

}  // namespace grainless
