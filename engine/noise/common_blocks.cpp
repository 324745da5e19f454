// SPDX-License-Identifier: MIT
#include "common_blocks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/progress.h"

namespace grainless {
namespace {

constexpr int32_t kSide = kLeftSide;  // of a block
constexpr size_t kMotion = 2;         // components that motion fills

// Square.
struct Matrix {
  explicit Matrix(size_t rows_and_columns)
      : size(rows_and_columns), values(rows_and_columns * rows_and_columns) {}
  double& at(size_t row, size_t column) { return values[row * size + column]; }
  double at(size_t row, size_t column) const { return values[row * size + column]; }

  size_t size;
  std::vector<double> values;
};

// Jacobi's turns of two columns make them orthogonal; a few rounds, since weak components need not
// be exact.
void diagonalise(Matrix& matrix, Matrix& vectors) {
  constexpr int32_t kRounds = 8;
  const size_t n = matrix.size;
  for (size_t i = 0; i < n; ++i) vectors.at(i, i) = 1;
  for (int32_t round = 0; round < kRounds; ++round) {
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        const double off = matrix.at(p, q);
        if (off == 0) continue;
        const double angle = 0.5 * std::atan2(2 * off, matrix.at(p, p) - matrix.at(q, q));
        const double c = std::cos(angle), s = std::sin(angle);
        const auto turn = [&](double& x, double& y) {
          const double turned = c * x + s * y;
          y = c * y - s * x;
          x = turned;
        };
        for (size_t i = 0; i < n; ++i) turn(matrix.at(i, p), matrix.at(i, q));
        for (size_t i = 0; i < n; ++i) turn(matrix.at(p, i), matrix.at(q, i));
        for (size_t i = 0; i < n; ++i) turn(vectors.at(i, p), vectors.at(i, q));
      }
    }
  }
}

using Mixtures = std::vector<std::vector<double>>;

struct Sums {
  double count = 0, values = 0, squares = 0;

  void add(const Sums& other) {
    count += other.count;
    values += other.values;
    squares += other.squares;
  }
};

// A block of all layers, at one level: less their mean, a row a layer.
struct Rows {
  size_t layers, pixels;
  std::vector<double> values, mean;

  const double* of(size_t layer) const { return values.data() + layer * pixels; }
  // Sum of squares.
  double energy() const {
    return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  }
  // The variance of one layer that this shows, were it noise.
  double differing() const { return energy() / static_cast<double>((layers - 1) * pixels); }
};

// One part of the same tile of all layers.
class Block {
 public:
  Block(const std::vector<Sample>& samples, size_t tile, const Rect& rect)
      : samples_(samples), tile_(tile), rect_(rect) {}

  bool valid() const {
    return std::all_of(samples_.begin(), samples_.end(),
                       [&](const Sample& sample) { return is_valid(sample.tiles[tile_], rect_); });
  }
  Rows rows(int32_t level, int32_t channel) const;

 private:
  const std::vector<Sample>& samples_;
  const size_t tile_;
  const Rect rect_;
};

Rows Block::rows(int32_t level, int32_t channel) const {
  const int32_t left = rect_.x >> level, columns = rect_.width >> level;
  const int32_t top = rect_.y >> level, down = rect_.height >> level;
  const size_t layers = samples_.size(), pixels = static_cast<size_t>(columns) * down;
  Rows rows{layers, pixels, {}, std::vector<double>(pixels)};
  rows.values.reserve(layers * pixels);
  for (const Sample& sample : samples_) {
    const SampleTile& tile = sample.tiles[tile_];
    const int32_t width = tile.width_at(level);
    for (int32_t y = top; y < top + down; ++y) {
      const float* from = tile.plane[level][channel].data() + static_cast<size_t>(y) * width + left;
      rows.values.insert(rows.values.end(), from, from + columns);
    }
  }
  for (size_t i = 0; i < pixels; ++i) {
    double& mean = rows.mean[i];
    for (size_t z = 0; z < layers; ++z) mean += rows.values[z * pixels + i];
    mean /= static_cast<double>(layers);
    for (size_t z = 0; z < layers; ++z) rows.values[z * pixels + i] -= mean;
  }
  return rows;
}

Matrix products_of(const Rows& rows) {
  Matrix products(rows.layers);
  for (size_t a = 0; a < rows.layers; ++a) {
    for (size_t b = a; b < rows.layers; ++b) {
      products.at(a, b) = products.at(b, a) =
          std::inner_product(rows.of(a), rows.of(a) + rows.pixels, rows.of(b), 0.0);
    }
  }
  return products;
}

// Mixtures of layers that show least, and nothing of their mean: all but those that motion fills.
// As half resolution tells, which noise fills less than motion does: of full resolution, on which
// they aren't fitted, they say the truth.
Mixtures weakest_mixtures(const Rows& half) {
  const size_t n = half.layers;
  Matrix products = products_of(half), vectors(n);
  const double most = 1 + half.energy();
  for (double& product : products.values) product += most;  // the mean comes last
  diagonalise(products, vectors);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t p, size_t q) { return products.at(p, p) < products.at(q, q); });
  Mixtures mixtures;
  for (size_t i = 0; i + kMotion + 1 < n; ++i) {
    std::vector<double> mixture(n);
    for (size_t z = 0; z < n; ++z) mixture[z] = vectors.at(z, order[i]);
    mixtures.push_back(std::move(mixture));
  }
  return mixtures;
}

// Their mean square, and that of squares over it.
double left_of_rows(const Rows& rows, const Mixtures& mixtures, double& kurtosis) {
  double squares = 0, fourths = 0;
  for (const std::vector<double>& mixture : mixtures) {
    for (size_t i = 0; i < rows.pixels; ++i) {
      double value = 0;
      for (size_t z = 0; z < rows.layers; ++z) value += mixture[z] * rows.of(z)[i];
      squares += value * value;
      fourths += value * value * value * value;
    }
  }
  const auto count = static_cast<double>(mixtures.size() * rows.pixels);
  kurtosis = squares > 0 ? fourths * count / (squares * squares) : 0;
  return squares / count;
}

Sums sums_of(const std::vector<double>& values) {
  return {static_cast<double>(values.size()), std::accumulate(values.begin(), values.end(), 0.0),
          std::inner_product(values.begin(), values.end(), values.begin(), 0.0)};
}

double variance_of(const Sums& sums) {
  const double mean = sums.values / sums.count;
  return sums.squares / sums.count - mean * mean;
}

// Whether what layers have in common, at quarter resolution all over the picture, is more than what
// each has for itself, of which their mean holds a share.
bool is_scene(const Sums& common, double own, size_t layers) {
  return variance_of(common) > own * (1 + 1.0 / static_cast<double>(layers));
}

// Whether components are as much alike as those of so many independent values are (John 1971):
// still layers' have 60 and more at quarter resolution, shaken and drifting ones' 10 and fewer
// where there is texture.
bool differ_alike(const Rows& rows) {
  constexpr double kIndependent = 40;
  const Matrix products = products_of(rows);
  double trace = 0, squares = 0;
  for (size_t z = 0; z < rows.layers; ++z) trace += products.at(z, z);
  for (const double product : products.values) squares += product * product;
  const auto layers = static_cast<double>(rows.layers);
  return trace > 0 && kIndependent * ((layers - 1) * squares / (trace * trace) - 1) <= layers;
}

// A square at quarter resolution.
struct Square {
  bool structured = false;  // shows the same structure in all layers
  bool alike = false;       // no mixture of them differs more than another
  bool even = false;        // no part of it differs more than another
  double differing = 0;     // variance, of one layer
};

// Whether a square differs about as much in each of its quarters, as one doesn't of which a part
// has moved.
bool differs_evenly(const std::vector<Sample>& samples, size_t tile, const Rect& rect) {
  constexpr double kMostUneven = 4;
  const int32_t width = rect.width / 2, height = rect.height / 2;
  double least = HUGE_VAL, most = 0;
  for (int32_t i = 0; i < 4; ++i) {
    const Rect quarter{rect.x + i % 2 * width, rect.y + i / 2 * height, width, height};
    const double differing = Block(samples, tile, quarter).rows(kSampleLevels - 1, 0).differing();
    least = std::min(least, differing);
    most = std::max(most, differing);
  }
  return most <= kMostUneven * least;
}

Square square_of(const std::vector<Sample>& samples, size_t tile, const Rect& rect) {
  Square square;
  const Block layers(samples, tile, rect);
  if (!layers.valid()) return square;
  const Rows rows = layers.rows(kSampleLevels - 1, 0);
  square.differing = rows.differing();
  square.structured = is_scene(sums_of(rows.mean), square.differing, rows.layers);
  square.alike = differ_alike(rows);
  square.even = differs_evenly(samples, tile, rect);
  return square;
}

// What the weakest mixtures hold of it.
PairBlock block_of(const Block& layers, int32_t channels) {
  const Mixtures mixtures = weakest_mixtures(layers.rows(1, 0));
  PairBlock block{};
  block.traced = true;
  for (int32_t c = channels - 1; c >= 0; --c) {
    for (int32_t l = kSampleLevels - 1; l >= 0; --l) {
      const Rows rows = layers.rows(l, c);
      block.variance[l][c] = rows.differing();
      block.left.variance[l][c] = left_of_rows(rows, mixtures, block.left.kurtosis);
    }
  }  // the last is luma at full resolution, whose kurtosis counts
  return block;
}

// Those that are valid in all layers.
std::vector<Block> common_blocks(const std::vector<Sample>& samples) {
  std::vector<Block> blocks;
  for (size_t t = 0; t < samples.front().tiles.size(); ++t) {
    const SampleTile& tile = samples.front().tiles[t];
    for (int32_t y = 0; y + kSide <= tile.height; y += kSide) {
      for (int32_t x = 0; x + kSide <= tile.width; x += kSide) {
        const Block layers(samples, t, {x, y, kSide, kSide});
        if (layers.valid()) blocks.push_back(layers);
      }
    }
  }
  return blocks;
}

}  // namespace

CommonBlocks compare_all_layers(const std::vector<Sample>& samples, ThreadPool& pool,
                                const Callbacks& callbacks) {
  CommonBlocks common;
  if (samples.size() < kFewestCommon) return common;
  const std::vector<Block> all = common_blocks(samples);
  std::vector<PairBlock>& blocks = common.all.blocks;
  blocks.resize(all.size());
  std::vector<Sums> means(all.size());
  pool.parallel_for(static_cast<int32_t>(all.size()), [&](int32_t index, int32_t) {
    throw_if_cancelled(callbacks);
    const auto i = static_cast<size_t>(index);
    blocks[i] = block_of(all[i], samples.front().channels);
    means[i] = sums_of(all[i].rows(kSampleLevels - 1, 0).mean);
    blocks[i].structure = variance_of(means[i]);
  });
  Sums scene;
  double differing = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    scene.add(means[i]);
    differing += blocks[i].variance[kSampleLevels - 1][0];
  }
  if (blocks.empty()) return common;
  common.same_scene =
      is_scene(scene, differing / static_cast<double>(blocks.size()), samples.size());
  return common;
}

std::vector<bool> still_squares(const std::vector<Sample>& samples) {
  if (samples.size() < kFewestCommon) return {};
  std::vector<Square> squares;
  for (size_t t = 0; t < samples.front().tiles.size(); ++t) {
    for (const Rect& rect : motion_squares(samples.front().tiles[t])) {
      squares.push_back(square_of(samples, t, rect));
    }
  }
  // What shows structure would show motion: a drift leaves a sky alike that hardly shows it.
  constexpr double kStillShare = 0.6;
  double most = 0, structured = 0, alike = 0;
  for (const Square& square : squares) {
    if (!square.structured) continue;
    structured += 1;
    if (!square.alike) continue;
    alike += 1;
    if (square.even) most = std::max(most, square.differing);
  }
  const bool tells = alike > 0 && alike >= kStillShare * structured;
  std::vector<bool> still;
  for (const Square& square : squares) {
    still.push_back(tells && square.alike && square.differing <= most);
  }
  return still;
}

}  // namespace grainless
