// SPDX-License-Identifier: MIT
#include "layer_pair.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace grainless {
namespace {

constexpr int32_t kSide = 16;  // of a block, pixels

// The block's mean luma, and how much its parts differ.
double tone_of(const SampleTile& a, const SampleTile& b, int32_t x, int32_t y, double& structure) {
  const int32_t width = a.width_at(2), side = kSide / 4;
  double sum = 0, squares = 0;
  for (int32_t j = y / 4; j < y / 4 + side; ++j) {
    for (int32_t i = x / 4; i < x / 4 + side; ++i) {
      const size_t at = static_cast<size_t>(j) * width + i;
      const double value = 0.5 * (a.plane[2][0][at] + b.plane[2][0][at]);
      sum += value;
      squares += value * value;
    }
  }
  const double count = side * side;
  structure = squares / count - sum / count * (sum / count);
  return sum / count;
}

double variance_of(const SampleTile& a, const SampleTile& b, int32_t level, int32_t channel,
                   int32_t x, int32_t y) {
  const int32_t side = kSide >> level, width = a.width_at(level);
  double sum = 0;
  for (int32_t j = y >> level; j < (y >> level) + side; ++j) {
    for (int32_t i = x >> level; i < (x >> level) + side; ++i) {
      const size_t at = static_cast<size_t>(j) * width + i;
      const double difference = a.plane[level][channel][at] - b.plane[level][channel][at];
      sum += difference * difference;
    }
  }
  return sum / (2.0 * side * side);
}

PairBlock block_of(const SampleTile& a, const SampleTile& b, int32_t channels, int32_t x,
                   int32_t y) {
  const double span = 256 * (channels == 3 ? std::sqrt(3.0) : 1.0);
  PairBlock block{};
  const double tone = tone_of(a, b, x, y, block.structure) / span * kNoiseTones;
  block.tone = static_cast<int32_t>(std::clamp(tone, 0.0, kNoiseTones - 1.0));
  for (int32_t l = 0; l < kSampleLevels; ++l) {
    for (int32_t c = 0; c < channels; ++c) block.variance[l][c] = variance_of(a, b, l, c, x, y);
  }
  return block;
}

int32_t squares_along(int32_t pixels) {
  return pixels < kLeastMotion ? 0 : std::max(1, pixels / kMotionSide);
}

// The squares of all tiles; a tile's right and lower rest is in none.
class Squares {
 public:
  Squares(const Sample& a, const Sample& b, size_t tiles, double known, bool next) {
    for (size_t t = 0; t < tiles; ++t) {
      const SampleTile& tile = a.tiles[t];
      first_.push_back(motions_.size());
      for (int32_t row = 0; row < squares_along(tile.height); ++row) {
        for (int32_t column = 0; column < squares_along(tile.width); ++column) {
          motions_.push_back(
              compare_square(tile, b.tiles[t], column * kMotionSide, row * kMotionSide));
        }
      }
    }
    forgive_shake(known, next, motions_);
  }
  SquareState at(const Sample& a, size_t tile, int32_t x, int32_t y) const {
    const int32_t columns = squares_along(a.tiles[tile].width), column = x / kMotionSide;
    const int32_t rows = squares_along(a.tiles[tile].height), row = y / kMotionSide;
    if (column >= columns || row >= rows) return SquareState::kUnknown;
    return motions_[first_[tile] + static_cast<size_t>(row * columns + column)].state;
  }
  int64_t count(SquareState state) const {
    return std::count_if(motions_.begin(), motions_.end(),
                         [&](const SquareMotion& motion) { return motion.state == state; });
  }
  // Median of those that tell anything.
  template <typename Value>
  double median_of(const Value& value) const {
    std::vector<double> values;
    for (const SquareMotion& motion : motions_) {
      if (motion.state != SquareState::kUnknown) values.push_back(value(motion));
    }
    return values.empty() ? 0 : median(std::move(values));
  }

 private:
  std::vector<size_t> first_;  // of each tile
  std::vector<SquareMotion> motions_;
};

}  // namespace

LayerPair compare_layers(const Sample& a, const Sample& b, double known, bool next) {
  const size_t tiles = std::min(a.tiles.size(), b.tiles.size());
  const Squares squares(a, b, tiles, known, next);
  LayerPair pair;
  pair.still = squares.count(SquareState::kStill) + squares.count(SquareState::kShaken);
  pair.changed = squares.count(SquareState::kChanged);
  pair.share = squares.median_of([](const SquareMotion& motion) { return motion.share; });
  pair.pixels = squares.median_of(
      [](const SquareMotion& motion) { return std::hypot(motion.right, motion.down); });
  pair.hidden = known < kHiddenNoise * squares.median_of(
                                           [](const SquareMotion& motion) { return motion.noise; });
  for (size_t t = 0; t < tiles; ++t) {
    const SampleTile &one = a.tiles[t], &other = b.tiles[t];
    for (int32_t y = 0; y + kSide <= one.height; y += kSide) {
      for (int32_t x = 0; x + kSide <= one.width; x += kSide) {
        if (count_state(one, x, y, kSide, kInvalid) > 0) continue;
        if (count_state(other, x, y, kSide, kInvalid) > 0) continue;
        pair.blocks.push_back(block_of(one, other, a.channels, x, y));
        pair.blocks.back().state = squares.at(a, t, x, y);
      }
    }
  }
  return pair;
}

}  // namespace grainless
