// SPDX-License-Identifier: MIT
#include "layer_pair.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace grainless {
namespace {

constexpr int32_t kSide = kLeftSide;                        // of a block
constexpr double kMostClipped = 0.02, kMuchClipped = 0.25;  // shares of its pixels

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

constexpr int32_t kCell = 4;

bool equals(const float* cell, const float* other, ptrdiff_t width) {
  for (int32_t y = 0; y < kCell; ++y) {
    if (!std::equal(cell + y * width, cell + y * width + kCell, other + y * width)) return false;
  }
  return true;
}

bool is_plain(const float* cell, ptrdiff_t width) {
  for (int32_t y = 0; y < kCell; ++y) {
    for (int32_t x = 0; x < kCell; ++x) {
      if (cell[y * width + x] != cell[0]) return false;
    }
  }
  return true;
}

// Of luma, in the block at (x, y).
void count_cells(const SampleTile& a, const SampleTile& b, int32_t x, int32_t y, LayerPair& pair) {
  for (int32_t j = y; j < y + kSide; j += kCell) {
    for (int32_t i = x; i < x + kSide; i += kCell) {
      const ptrdiff_t at = static_cast<ptrdiff_t>(j) * a.width + i;
      const float *one = a.plane[0][0].data() + at, *other = b.plane[0][0].data() + at;
      if (is_plain(one, a.width)) continue;
      ++pair.shown;
      pair.repeated += equals(one, other, a.width) ? 1 : 0;
    }
  }
}

// The squares of all tiles; a tile's right and lower rest is in none.
class Squares {
 public:
  Squares(const Sample& a, const Sample& b, size_t tiles, double known, Apart apart,
          const std::vector<bool>& still) {
    for (size_t t = 0; t < tiles; ++t) {
      const SampleTile& tile = a.tiles[t];
      first_.push_back(motions_.size());
      for (const Rect& square : motion_squares(tile)) {
        motions_.push_back(compare_square(tile, b.tiles[t], square.x, square.y));
        displacements_.push_back(find_displacement(tile, b.tiles[t], square.x, square.y));
      }
    }
    follow_usual(a, b, tiles);
    forgive_coarseness(motions_);
    forgive_still(still);
    forgive_shake(known, apart, motions_);
  }
  // Sets what the square that holds a block says of it, if there is one.
  void judge(const Sample& a, const Sample& b, size_t t, int32_t x, int32_t y,
             PairBlock& block) const {
    const SampleTile& tile = a.tiles[t];
    const int32_t columns = squares_along(tile.width), column = x / kMotionSide;
    const int32_t rows = squares_along(tile.height), row = y / kMotionSide;
    if (column >= columns || row >= rows) return;
    const size_t square = first_[t] + static_cast<size_t>(row * columns + column);
    const Displacement& by = displacements_[square];
    block.state = motions_[square].state;
    block.traced = by.known && left_of_block(tile, b.tiles[t], by, a.channels, x, y, block.left);
  }
  // Those that surely show a displacement.
  void count_sure(LayerPair& pair) const {
    constexpr double kApart = 0.15, kApartShare = 0.05;
    const SureOnes sure = sure_ones();
    pair.sure = sure.right.size();
    if (pair.sure == 0) return;
    const double x = median(sure.right), y = median(sure.down);
    const double apart = kApart + kApartShare * std::hypot(x, y);
    pair.parts = median(sure.parts);
    for (size_t i = 0; i < pair.sure; ++i) {
      pair.alike += std::hypot(sure.right[i] - x, sure.down[i] - y) <= apart ? 1 : 0;
    }
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
  struct SureOnes {
    std::vector<double> right, down, parts;
  };
  SureOnes sure_ones() const {
    SureOnes ones;
    for (const Displacement& by : displacements_) {
      if (!by.sure) continue;
      ones.right.push_back(by.right + by.more_right);
      ones.down.push_back(by.down + by.more_down);
      ones.parts.push_back(std::hypot(by.more_right, by.more_down));
    }
    return ones;
  }
  // What the squares that surely show a displacement have in common may fit others better than what
  // they seem to show.
  void follow_usual(const Sample& a, const Sample& b, size_t tiles) {
    const SureOnes sure = sure_ones();
    if (sure.right.empty()) return;
    Displacement usual;
    usual.more_right = median(sure.right);
    usual.more_down = median(sure.down);
    size_t i = 0;
    for (size_t t = 0; t < tiles; ++t) {
      for (const Rect& at : motion_squares(a.tiles[t])) {
        Displacement& by = displacements_[i++];
        by = displaced_like(usual, a.tiles[t], b.tiles[t], at.x, at.y, by);
      }
    }
  }
  // A pair's noise may look like motion that all layers together don't show.
  void forgive_still(const std::vector<bool>& still) {
    for (size_t i = 0; i < std::min(still.size(), motions_.size()); ++i) {
      SquareMotion& motion = motions_[i];
      if (!still[i] || motion.unlike_noise || motion.state != SquareState::kChanged) continue;
      motion.state = SquareState::kStill;
    }
  }

  std::vector<size_t> first_;  // of each tile
  std::vector<SquareMotion> motions_;
  std::vector<Displacement> displacements_;
};

}  // namespace

LayerPair compare_layers(const Sample& a, const Sample& b, double known, Apart apart,
                         const std::vector<bool>& still) {
  const size_t tiles = std::min(a.tiles.size(), b.tiles.size());
  const Squares squares(a, b, tiles, known, apart, still);
  LayerPair pair;
  pair.still = squares.count(SquareState::kStill) + squares.count(SquareState::kShaken);
  pair.changed = squares.count(SquareState::kChanged);
  pair.share = squares.median_of([](const SquareMotion& motion) { return motion.share; });
  pair.sharpness = squares.median_of([](const SquareMotion& motion) { return motion.sharpness; });
  pair.pixels = squares.median_of(
      [](const SquareMotion& motion) { return std::hypot(motion.right, motion.down); });
  pair.hidden = known < kHiddenNoise * squares.median_of(
                                           [](const SquareMotion& motion) { return motion.noise; });
  squares.count_sure(pair);
  for (size_t t = 0; t < tiles; ++t) {
    const SampleTile &one = a.tiles[t], &other = b.tiles[t];
    for (int32_t y = 0; y + kSide <= one.height; y += kSide) {
      for (int32_t x = 0; x + kSide <= one.width; x += kSide) {
        if (count_state(one, x, y, kSide, kInvalid) > 0) continue;
        if (count_state(other, x, y, kSide, kInvalid) > 0) continue;
        count_cells(one, other, x, y, pair);
        PairBlock& block = pair.blocks.emplace_back(block_of(one, other, a.channels, x, y));
        const auto clipped = [&](double share) {
          return !measurable(one, x, y, kSide, share) || !measurable(other, x, y, kSide, share);
        };
        block.clipped = clipped(kMostClipped);
        block.cut_off = block.clipped && clipped(kMuchClipped);
        squares.judge(a, b, t, x, y, block);
      }
    }
  }
  return pair;
}

}  // namespace grainless
