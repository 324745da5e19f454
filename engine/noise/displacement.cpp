// SPDX-License-Identifier: MIT
#include "displacement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace grainless {
namespace {

constexpr int32_t kReach = 6;  // pixels of quarter resolution, each way
// Of two places of pure noise one differs a little less: a displacement has to explain that much at
// quarter resolution, and at a finer one.
constexpr double kMostLeft = 0.7, kMostLeftFiner = 0.95;

struct Span {
  int32_t first, end;
  int32_t size() const { return end - first; }
};

// Of a's pixels from..from+side-1 those that b has, too, `by` further on, and so many round each.
Span overlap(int32_t from, int32_t side, int32_t by, int32_t size, int32_t round) {
  return {std::max(from, round + std::max(0, -by)),
          std::min(from + side, size - round - std::max(0, by))};
}

// Over the noise's variance: gradients' energy of a square that shows its displacement.
constexpr double kSureTexture = 0.75;

// Mean squared difference of luma; more than any where less than half of the square is in both.
double difference_at(const SampleTile& a, const SampleTile& b, int32_t level, const Rect& square,
                     int32_t right, int32_t down) {
  const int32_t width = a.width_at(level);
  const int32_t side = square.width >> level, rows = square.height >> level;
  const Span across = overlap(square.x >> level, side, right, width, 0);
  const Span along = overlap(square.y >> level, rows, down, a.height_at(level), 0);
  if (2 * across.size() < side || 2 * along.size() < rows) return HUGE_VAL;
  double sum = 0;
  for (int32_t y = along.first; y < along.end; ++y) {
    const float* one = a.plane[level][0].data() + static_cast<size_t>(y) * width;
    const float* other = b.plane[level][0].data() + static_cast<size_t>(y + down) * width + right;
    for (int32_t x = across.first; x < across.end; ++x) {
      const double d = static_cast<double>(one[x]) - other[x];
      sum += d * d;
    }
  }
  return sum / (1.0 * across.size() * along.size());
}

// The best whole displacement within `reach` pixels of the given one.
void search(const SampleTile& a, const SampleTile& b, int32_t level, const Rect& square,
            int32_t reach, double most, Displacement& by) {
  const int32_t right = by.right, down = by.down;
  double least = most * difference_at(a, b, level, square, right, down);
  for (int32_t j = down - reach; j <= down + reach; ++j) {
    for (int32_t i = right - reach; i <= right + reach; ++i) {
      const double found = difference_at(a, b, level, square, i, j);
      if (!(found < least)) continue;
      least = found;
      by.right = i;
      by.down = j;
    }
  }
}

// Two pixels of a plane, `by` apart: what they differ by, and, of the mean of both planes, what
// those round them differ from it by.
struct Pixel {
  double difference;
  Vector<kRound> round;

  double across() const { return 0.5 * (round[4] - round[3]); }
  double along() const { return 0.5 * (round[6] - round[1]); }
};

Pixel pixel_at(const float* one, const float* other, ptrdiff_t width) {
  const double centre = 0.5 * (static_cast<double>(one[0]) + other[0]);
  const ptrdiff_t offset[kRound] = {-width - 1, -width,    -width + 1, -1,
                                    1,          width - 1, width,      width + 1};
  Pixel pixel{static_cast<double>(one[0]) - other[0], {}};
  for (size_t i = 0; i < kRound; ++i) {
    const double sum = static_cast<double>(one[offset[i]]) + other[offset[i]];
    pixel.round[i] = 0.5 * sum - centre;
  }
  return pixel;
}

// use(pixel) of those that both layers have.
template <typename Use>
void for_pixels(const SampleTile& a, const SampleTile& b, const Rect& square,
                const Displacement& by, const Use& use) {
  const Span across = overlap(square.x, square.width, by.right, a.width, 1);
  const Span along = overlap(square.y, square.height, by.down, a.height, 1);
  for (int32_t y = along.first; y < along.end; ++y) {
    const float* one = a.plane[0][0].data() + static_cast<size_t>(y) * a.width;
    const float* other = b.plane[0][0].data() + static_cast<size_t>(y + by.down) * a.width;
    for (int32_t x = across.first; x < across.end; ++x) {
      use(pixel_at(one + x, other + x + by.right, a.width));
    }
  }
}

// The parts of a pixel that whole ones leave, by gradients (Lucas & Kanade 1981).
Displacement refined(const SampleTile& a, const SampleTile& b, const Rect& square, int32_t right,
                     int32_t down) {
  Displacement by;
  by.right = right;
  by.down = down;
  double xx = 0, xy = 0, yy = 0, xd = 0, yd = 0, dd = 0, count = 0;
  for_pixels(a, b, square, by, [&](const Pixel& pixel) {
    const double d = pixel.difference, x = pixel.across(), y = pixel.along();
    xx += x * x;
    xy += x * y;
    yy += y * y;
    xd += x * d;
    yd += y * d;
    dd += d * d;
    ++count;
  });
  by.left = dd / std::max(1.0, count);
  const double determinant = xx * yy - xy * xy;
  if (!(determinant > 1e-3 * xx * yy)) return by;
  const double more_right = (yy * xd - xy * yd) / determinant;
  const double more_down = (xx * yd - xy * xd) / determinant;
  const double left = dd - more_right * xd - more_down * yd;
  by.left = std::max(0.0, left) / count;
  const double scale = 1 / std::max(1.0, std::hypot(more_right, more_down));
  by.more_right = scale * more_right;
  by.more_down = scale * more_down;
  // The gradients' weaker direction, of whose energy noise of one layer's variance leaves a
  // quarter.
  const double weaker = 0.5 * (xx + yy - std::hypot(xx - yy, 2 * xy));
  by.sure = weaker > kSureTexture * 0.5 * left;
  return by;
}

Rect moved(const Rect& rect, const Displacement& by) {
  return {rect.x + by.right, rect.y + by.down, rect.width, rect.height};
}

// What is left of a block's pixels.
struct Rest {
  double values[kLeftSide][kLeftSide];
  int32_t side = kLeftSide;

  double mean(int32_t power) const;  // of that power, 2 or 4
  void halve();
};

double Rest::mean(int32_t power) const {
  double sum = 0;
  for (int32_t y = 0; y < side; ++y) {
    for (int32_t x = 0; x < side; ++x) {
      const double square = values[y][x] * values[y][x];
      sum += power == 4 ? square * square : square;
    }
  }
  return sum / (1.0 * side * side);
}

void Rest::halve() {
  side /= 2;
  for (int32_t y = 0; y < side; ++y) {
    for (int32_t x = 0; x < side; ++x) {
      values[y][x] = 0.25 * (values[2 * y][2 * x] + values[2 * y][2 * x + 1] +
                             values[2 * y + 1][2 * x] + values[2 * y + 1][2 * x + 1]);
    }
  }
}

// Pixels at a tile's border, whose gradient is not known, are as those beside them.
Rest rest_of(const SampleTile& a, const SampleTile& b, const Displacement& by, int32_t channel,
             const Rect& block) {
  const Span across = overlap(0, a.width, by.right, a.width, 1);
  const Span along = overlap(0, a.height, by.down, a.height, 1);
  Rest rest;
  for (int32_t j = 0; j < kLeftSide; ++j) {
    const int32_t y = std::clamp(block.y + j, along.first, along.end - 1);
    const float* one = a.plane[0][channel].data() + static_cast<size_t>(y) * a.width;
    const float* other = b.plane[0][channel].data() + static_cast<size_t>(y + by.down) * a.width;
    for (int32_t i = 0; i < kLeftSide; ++i) {
      const int32_t x = std::clamp(block.x + i, across.first, across.end - 1);
      const Pixel pixel = pixel_at(one + x, other + x + by.right, a.width);
      rest.values[j][i] = pixel.difference - std::inner_product(by.round.begin(), by.round.end(),
                                                                pixel.round.begin(), 0.0);
    }
  }
  return rest;
}

// Sets what explains most of the difference. Where one direction shows little, nothing is taken for
// shown there: the least weight that explains it (Tikhonov).
void explain(const SampleTile& a, const SampleTile& b, const Rect& square, Displacement& by) {
  constexpr double kSteady = 1e-3;  // of the squares' mean
  Matrix<kRound> products{};
  Vector<kRound> with{};
  for_pixels(a, b, square, by, [&](const Pixel& pixel) {
    for (size_t i = 0; i < kRound; ++i) {
      for (size_t j = 0; j <= i; ++j) products[i][j] += pixel.round[i] * pixel.round[j];
      with[i] += pixel.round[i] * pixel.difference;
    }
  });
  double squares = 0;
  for (size_t i = 0; i < kRound; ++i) squares += products[i][i];
  if (!(squares > 0)) return;
  for (size_t i = 0; i < kRound; ++i) {
    products[i][i] += kSteady / kRound * squares;
    for (size_t j = 0; j < i; ++j) products[j][i] = products[i][j];
  }
  by.round = solved(products, with);
}

Rect square_at(const SampleTile& tile, int32_t x, int32_t y) {
  return {x, y, std::min(kMotionSide, tile.width - x), std::min(kMotionSide, tile.height - y)};
}

bool mostly_in(const SampleTile& tile, const Rect& rect) {
  const Rect part = intersect(rect, {0, 0, tile.width, tile.height});
  return 2 * part.width >= rect.width && 2 * part.height >= rect.height;
}

// From whole pixels, which fine patterns lead to the wrong one of.
Displacement refined(const SampleTile& a, const SampleTile& b, const Rect& square,
                     const Displacement& from) {
  constexpr int32_t kMostSteps = 4;
  Displacement best = from, next = from;
  for (int32_t step = 0; step < kMostSteps; ++step) {
    const Rect there = moved(square, next);
    if (!mostly_in(b, there) || !is_valid(b, expand(there, 1))) break;
    next = refined(a, b, square, next.right, next.down);
    if (best.known && next.left >= best.left) break;
    best = next;
    best.known = true;
    next.right += static_cast<int32_t>(std::lround(best.more_right));
    next.down += static_cast<int32_t>(std::lround(best.more_down));
  }
  if (!best.known) return {};
  explain(a, b, square, best);
  return best;
}

}  // namespace

bool is_valid(const SampleTile& tile, const Rect& rect) {
  const Rect part = intersect(rect, {0, 0, tile.width, tile.height});
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    const uint8_t* state = tile.state.data() + static_cast<size_t>(y) * tile.width;
    const auto invalid = [](uint8_t bits) { return (bits & kInvalid) != 0; };
    if (std::any_of(state + part.x, state + part.right(), invalid)) return false;
  }
  return true;
}

Displacement find_displacement(const SampleTile& a, const SampleTile& b, int32_t x, int32_t y) {
  const Rect square = square_at(a, x, y);
  Displacement by;
  if (!is_valid(a, expand(square, 1)) || !is_valid(b, expand(square, 1))) return by;
  search(a, b, kSampleLevels - 1, square, kReach, kMostLeft, by);
  for (int32_t l = kSampleLevels - 2; l >= 0; --l) {
    by.right *= 2;
    by.down *= 2;
    search(a, b, l, square, 1, kMostLeftFiner, by);
  }
  return refined(a, b, square, by);
}

Displacement displaced_like(const Displacement& like, const SampleTile& a, const SampleTile& b,
                            int32_t x, int32_t y, const Displacement& found) {
  Displacement whole;
  whole.right = static_cast<int32_t>(std::lround(like.right + like.more_right));
  whole.down = static_cast<int32_t>(std::lround(like.down + like.more_down));
  if (!found.known || (whole.right == found.right && whole.down == found.down)) return found;
  const Displacement by = refined(a, b, square_at(a, x, y), whole);
  return by.known && by.left < found.left ? by : found;
}

bool left_of_block(const SampleTile& a, const SampleTile& b, const Displacement& by,
                   int32_t channels, int32_t x, int32_t y, Left& left) {
  const Rect tile{0, 0, a.width, a.height}, block{x, y, kLeftSide, kLeftSide};
  if (!tile.contains(moved(block, by))) return false;
  for (int32_t c = 0; c < channels; ++c) {
    Rest rest = rest_of(a, b, by, c, block);
    const double energy = rest.mean(2);
    if (c == 0) left.kurtosis = energy > 0 ? rest.mean(4) / (energy * energy) : 0;
    for (int32_t l = 0; l < kSampleLevels; ++l) {
      left.variance[l][c] = 0.5 * rest.mean(2);
      rest.halve();
    }
  }
  return true;
}

}  // namespace grainless
