// SPDX-License-Identifier: MIT
#include "motion_field.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/boundary/pyramid.h"
#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/frame/pyramid.h"

namespace grainless {
namespace {

constexpr int32_t kBlock = 8;                  // of a level, in its own pixels
constexpr int32_t kReach = kMotionSearch / 4;  // of the search at a quarter
constexpr int32_t kSpan = 2 * kReach + 1;
constexpr int32_t kNear = 1, kFar = 2;  // blocks round one that tell what it moves by
// Of the mean square that noise alone differs by: what is surely better. More blocks tell less.
constexpr double kSurely = 0.3, kSurelyFar = 0.15, kSurelyBeside = 0.3;
constexpr int32_t kMargin = 4;  // pixels round a block at half the resolution
constexpr int32_t kAlike = 1;   // blocks round one whose gradients count
constexpr int32_t kRounds = 2;
constexpr double kMostPart = 1.5;  // pixels at half the resolution that gradients may add a round

// A block at half the resolution depends on blocks at a quarter round its own, and on what these
// and their search reach.
constexpr int32_t kHalfBlocks = kAlike * kRounds;
constexpr int32_t kQuarterBlocks = 1 + kFar;
constexpr int32_t kBlocksRound = kHalfBlocks / 2 + kQuarterBlocks;
static_assert(kMotionReach >= 2 * kMotionBlock * (1 + kBlocksRound) - 1 + kMotionSearch);
static_assert(kMotionMost >= kMotionSearch + 2 * (1 + kRounds * kMostPart));

struct Whole {
  int32_t right = 0, down = 0;
  bool operator==(const Whole&) const = default;
  Whole operator+(const Whole& more) const { return {right + more.right, down + more.down}; }
};

// Pixels at half the resolution.
struct Part {
  double right = 0, down = 0;
};

Rect level_rect(const Rect& image, int32_t level) {
  return {0, 0, level_size(image.width, level), level_size(image.height, level)};
}

// Values of blocks.
template <typename T>
class Grid {
 public:
  explicit Grid(const Rect& blocks) : blocks_(blocks), data_(static_cast<size_t>(blocks.area())) {}
  T& at(int32_t x, int32_t y) {
    return data_[static_cast<size_t>(y - blocks_.y) * blocks_.width + (x - blocks_.x)];
  }
  const T& at(int32_t x, int32_t y) const { return const_cast<Grid*>(this)->at(x, y); }
  const Rect& blocks() const { return blocks_; }
  // Those within `radius` of one.
  Rect round(int32_t x, int32_t y, int32_t radius) const {
    return intersect({x - radius, y - radius, 2 * radius + 1, 2 * radius + 1}, blocks_);
  }

  // Sets all to value(x, y).
  template <typename Value>
  void fill(ThreadPool& pool, const Value& value) {
    pool.parallel_for(blocks_.height, [&](int32_t row, int32_t) {
      const int32_t y = blocks_.y + row;
      for (int32_t x = blocks_.x; x < blocks_.right(); ++x) at(x, y) = value(x, y);
    });
  }

 private:
  Rect blocks_;
  std::vector<T> data_;
};

// Of squared differences.
struct Cost {
  double sum = 0;
  int32_t count = 0;
  double mean() const { return count > 0 ? sum / count : std::numeric_limits<double>::infinity(); }
};

// Of the pixels of `area` that both have.
Cost difference(const Planes& own, const Planes& other, const Rect& area, const Whole& by) {
  const Rect& there = other.rect();
  const Rect used = intersect(intersect(area, own.rect()),
                              {there.x - by.right, there.y - by.down, there.width, there.height});
  Cost cost;
  if (used.empty()) return cost;
  for (int32_t y = used.y; y < used.bottom(); ++y) {
    const float *a = own.at(0, used.x, y), *b = other.at(0, used.x + by.right, y + by.down);
    float sum = 0;
    for (int32_t x = 0; x < used.width; ++x) sum += (a[x] - b[x]) * (a[x] - b[x]);
    cost.sum += sum;
  }
  cost.count = static_cast<int32_t>(used.area());
  return cost;
}

// Of a block, and every displacement.
using Costs = std::array<Cost, kSpan * kSpan>;
constexpr size_t kNoDisplacement = kReach * kSpan + kReach;

Whole displacement(size_t i) {
  const auto at = static_cast<int32_t>(i);
  return {at % kSpan - kReach, at / kSpan - kReach};
}

// Where the block's middle is, as far as the layers' places tell.
Whole whole_place(const MotionLevels& levels, const Similarity& about, int32_t x, int32_t y) {
  constexpr double kSide = 4 * kBlock;
  if (about.is_none()) return {};
  const PicturePoint middle =
      point_of((x + 0.5) * kSide - 0.5, (y + 0.5) * kSide - 0.5, levels.width, levels.height);
  const PicturePoint by = about.at(middle);
  return {static_cast<int32_t>(std::lround(by.real() / 4)),
          static_cast<int32_t>(std::lround(by.imag() / 4))};
}

Costs costs_of(const Planes& own, const Planes& other, int32_t x, int32_t y, const Whole& from) {
  Costs costs;
  for (size_t i = 0; i < costs.size(); ++i) {
    costs[i] =
        difference(own, other, {x * kBlock, y * kBlock, kBlock, kBlock}, from + displacement(i));
  }
  return costs;
}

Costs sum_round(const Grid<Costs>& costs, int32_t x, int32_t y, int32_t radius) {
  Costs sum{};
  const Rect round = costs.round(x, y, radius);
  for (int32_t j = round.y; j < round.bottom(); ++j) {
    for (int32_t i = round.x; i < round.right(); ++i) {
      const Costs& one = costs.at(i, j);
      for (size_t k = 0; k < sum.size(); ++k) {
        sum[k].sum += one[k].sum;
        sum[k].count += one[k].count;
      }
    }
  }
  return sum;
}

// What leaves least, if that is surely less than without: by more than `least_gain`.
bool find_whole(const Costs& costs, double least_gain, Whole& found) {
  const Cost& none = costs[kNoDisplacement];
  if (none.count == 0) return false;  // beyond the other layer
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < costs.size(); ++i) {
    if (2 * costs[i].count <= none.count || costs[i].mean() >= least) continue;
    least = costs[i].mean();
    found = displacement(i);
  }
  return none.mean() - least > least_gain;
}

Whole whole_motion(const Grid<Costs>& costs, int32_t x, int32_t y, double noise) {
  Whole found;
  if (find_whole(sum_round(costs, x, y, kNear), kSurely * noise, found)) return found;
  if (find_whole(sum_round(costs, x, y, kFar), kSurelyFar * noise, found)) return found;
  return {};
}

// Of a block at half the resolution. What was found for it stays unless another is surely better.
class Refinement {
 public:
  Refinement(const MotionLevels& own, const MotionLevels& other, const Grid<Whole>& coarse,
             double least_gain)
      : own_(own.half), other_(other.half), coarse_(coarse), least_gain_(least_gain) {}

  Part operator()(int32_t x, int32_t y) const {
    const Rect area{x * kBlock - kMargin, y * kBlock - kMargin, kBlock + 2 * kMargin,
                    kBlock + 2 * kMargin};
    const Whole& here = coarse_.at(x / 2, y / 2);
    Whole best{2 * here.right, 2 * here.down};
    double least = difference(own_, other_, area, best).mean() - least_gain_;
    const auto try_one = [&](const Whole& by) {
      const double mean = difference(own_, other_, area, by).mean();
      if (mean >= least) return;
      least = mean;
      best = by;
    };
    const Rect round = coarse_.round(x / 2, y / 2, 1);
    for (int32_t j = round.y; j < round.bottom(); ++j) {
      for (int32_t i = round.x; i < round.right(); ++i) {
        const Whole& by = coarse_.at(i, j);
        if (!(by == here)) try_one({2 * by.right, 2 * by.down});
      }
    }
    const Whole middle = best;
    for (int32_t j = -1; j <= 1; ++j) {
      for (int32_t i = -1; i <= 1; ++i) try_one({middle.right + i, middle.down + j});
    }
    return {static_cast<double>(best.right), static_cast<double>(best.down)};
  }

 private:
  const Planes &own_, &other_;
  const Grid<Whole>& coarse_;
  const double least_gain_;
};

// Over a block: products of gradients, and of these and what they are to explain.
struct Gradients {
  double xx = 0, xy = 0, yy = 0, x = 0, y = 0;
  int32_t count = 0;
};

// Between four values, t from the second on (Keys 1981, a = -0.5).
float cubic(const float* v, int32_t step, float t) {
  const float a = v[0], b = v[step], c = v[2 * step], d = v[3 * step];
  return b + 0.5f * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

constexpr int32_t kBordered = kBlock + 2;

// What lies under a block and a pixel round it, or false: beyond the layer.
bool displaced_block(const Planes& plane, const Rect& block, const Part& by,
                     float (&out)[kBordered][kBordered]) {
  constexpr int32_t kSide = kBordered + 3;
  const double right = std::floor(by.right), down = std::floor(by.down);
  const Rect from{block.x - 2 + static_cast<int32_t>(right),
                  block.y - 2 + static_cast<int32_t>(down), block.width + 5, block.height + 5};
  if (!plane.rect().contains(from)) return false;
  const auto part_x = static_cast<float>(by.right - right);
  const auto part_y = static_cast<float>(by.down - down);
  float rows[kSide][kBordered];
  for (int32_t j = 0; j < from.height; ++j) {
    const float* row = plane.at(0, from.x, from.y + j);
    for (int32_t i = 0; i < block.width + 2; ++i) rows[j][i] = cubic(row + i, 1, part_x);
  }
  for (int32_t j = 0; j < block.height + 2; ++j) {
    for (int32_t i = 0; i < block.width + 2; ++i) {
      out[j][i] = cubic(&rows[j][i], kBordered, part_y);
    }
  }
  return true;
}

// About an offset d0, of own(p) = other(p + d0 + d).
Gradients gradients_of(const Planes& own, const Planes& other, int32_t x, int32_t y,
                       const Part& by) {
  const Rect& all = own.rect();
  const Rect block = intersect({x * kBlock, y * kBlock, kBlock, kBlock},
                               {all.x + 1, all.y + 1, all.width - 2, all.height - 2});
  Gradients sum;
  float moved[kBordered][kBordered];
  if (block.empty() || !displaced_block(other, block, by, moved)) return sum;
  for (int32_t j = 0; j < block.height; ++j) {
    const float* above = own.at(0, block.x, block.y + j - 1);
    const float* here = own.at(0, block.x, block.y + j);
    const float* below = own.at(0, block.x, block.y + j + 1);
    for (int32_t i = 0; i < block.width; ++i) {
      const float* there = &moved[j + 1][i + 1];
      const double across = 0.25f * (here[i + 1] - here[i - 1] + there[1] - there[-1]);
      const double along = 0.25f * (below[i] - above[i] + there[kBordered] - there[-kBordered]);
      const double apart = here[i] - there[0];
      sum.xx += across * across;
      sum.xy += across * along;
      sum.yy += along * along;
      sum.x += across * apart;
      sum.y += along * apart;
    }
  }
  sum.count = static_cast<int32_t>(block.area());
  return sum;
}

// What explains most of what the blocks round one differ by, of those that go about the same way.
Part common_motion(const Grid<Gradients>& gradients, const Grid<Part>& parts, int32_t x, int32_t y,
                   double sigma) {
  constexpr double kAbout = 1;                // pixels
  constexpr double kLeastDeterminant = 0.05;  // of one with gradients of all directions
  constexpr double kSurelyExplained = 4;      // of what noise alone explains, on average 2
  const Part& own = parts.at(x, y);
  Gradients sum;
  const Rect round = parts.round(x, y, kAlike);
  for (int32_t j = round.y; j < round.bottom(); ++j) {
    for (int32_t i = round.x; i < round.right(); ++i) {
      const double right = parts.at(i, j).right - own.right, down = parts.at(i, j).down - own.down;
      if (std::max(std::abs(right), std::abs(down)) > kAbout) continue;
      const Gradients& one = gradients.at(i, j);
      sum.xx += one.xx;
      sum.xy += one.xy;
      sum.yy += one.yy;
      sum.x += one.x + one.xx * right + one.xy * down;
      sum.y += one.y + one.xy * right + one.yy * down;
      sum.count += one.count;
    }
  }
  // Gradients of the mean of two noisy pictures: what is no more than noise tells nothing.
  const double noise = sigma * sigma / 4 * sum.count;
  const double xx = std::max(sum.xx - noise, noise), yy = std::max(sum.yy - noise, noise);
  const double determinant = xx * yy - sum.xy * sum.xy;
  if (!(determinant > kLeastDeterminant * xx * yy)) return own;
  const double right = (yy * sum.x - sum.xy * sum.y) / determinant;
  const double down = (xx * sum.y - sum.xy * sum.x) / determinant;
  if (!(std::max(std::abs(right), std::abs(down)) <= kMostPart)) return own;
  const double explained = right * sum.x + down * sum.y;
  if (explained < kSurelyExplained * 2 * sigma * sigma) return own;
  return {own.right + right, own.down + down};
}

bool goes_as_round(const Grid<Part>& parts, int32_t x, int32_t y) {
  constexpr double kAbout = 0.5;  // pixels
  const Part& own = parts.at(x, y);
  const Rect round = parts.round(x, y, 1);
  for (int32_t j = round.y; j < round.bottom(); ++j) {
    for (int32_t i = round.x; i < round.right(); ++i) {
      const Part& by = parts.at(i, j);
      if (std::max(std::abs(by.right - own.right), std::abs(by.down - own.down)) > kAbout)
        return false;
    }
  }
  return true;
}

float eighths(double pixels) {
  return static_cast<float>(std::rint(8 * pixels) / 8);
}

}  // namespace

Rect motion_area(const Rect& rect) {
  constexpr int32_t kSide = 4 * kBlock;
  const Rect round = expand(blocks_of(rect, kSide), kBlocksRound);
  return {round.x * kSide, round.y * kSide, round.width * kSide, round.height * kSide};
}

MotionLevels motion_levels(const Plan& pixels, const ConstImage& layer, const Rect& area,
                           ThreadPool& pool) {
  constexpr int32_t kRows = 128;  // of a strip at half the resolution
  const Rect image{0, 0, layer.width, layer.height};
  const Rect half = level_rect(image, 1), quarter = level_rect(image, 2);
  MotionLevels levels{layer.width, layer.height, {}, {}};
  const Rect held = intersect(expand(halved(halved(area)), kReach), quarter);
  if (held.empty()) return levels;
  levels.quarter = Planes(1, held);
  levels.half = Planes(1, intersect(doubled(levels.quarter.rect()), half));
  const Rect& all = levels.half.rect();
  const AbiTile tile = source_tile(layer);
  for (int32_t y = all.y; y < all.bottom(); y += kRows) {
    const Rect strip = intersect({all.x, y, all.width, kRows}, all);
    const Planes full = planes_from_pixels(pixels, tile, intersect(doubled(strip), image), pool);
    Planes rows(1, strip);
    halve(full, image, rows, pool);
    for (int32_t row = strip.y; row < strip.bottom(); ++row) {
      std::memcpy(levels.half.at(0, strip.x, row), rows.at(0, strip.x, row),
                  static_cast<size_t>(strip.width) * sizeof(float));
    }
  }
  halve(levels.half, half, levels.quarter, pool);
  return levels;
}

MotionField::MotionField(const Rect& rect)
    : blocks_(blocks_of(rect, kMotionBlock)), offsets_(static_cast<size_t>(blocks_.area())) {}

bool MotionField::is_zero() const {
  return std::all_of(offsets_.begin(), offsets_.end(),
                     [](const Offset& by) { return by.right == 0 && by.down == 0; });
}

MotionField find_motion(const MotionLevels& own, const MotionLevels& other, const Similarity& about,
                        const float (&sigma)[2], const Rect& rect, ThreadPool& pool) {
  MotionField field(rect);
  const Rect half =
      intersect(expand(field.blocks(), kHalfBlocks), blocks_of(own.half.rect(), kBlock));
  const Rect all_quarter = blocks_of(own.quarter.rect(), kBlock);
  const Rect coarse = intersect(expand(halved(half), 1), all_quarter);
  const auto from = [&](int32_t x, int32_t y) { return whole_place(own, about, x, y); };
  Grid<Costs> costs(intersect(expand(coarse, kFar), all_quarter));
  costs.fill(pool, [&](int32_t x, int32_t y) {
    return costs_of(own.quarter, other.quarter, x, y, from(x, y));
  });
  Grid<Whole> whole(coarse);
  const double noise[2] = {2 * sigma[0] * sigma[0], 2 * sigma[1] * sigma[1]};
  whole.fill(
      pool, [&](int32_t x, int32_t y) { return from(x, y) + whole_motion(costs, x, y, noise[1]); });
  Grid<Part> parts(half);
  parts.fill(pool, Refinement(own, other, whole, kSurelyBeside * noise[0]));
  for (int32_t round = 0; round < kRounds; ++round) {
    Grid<Gradients> gradients(half);
    gradients.fill(pool, [&](int32_t x, int32_t y) {
      return gradients_of(own.half, other.half, x, y, parts.at(x, y));
    });
    Grid<Part> next(half);
    next.fill(pool, [&](int32_t x, int32_t y) {
      return common_motion(gradients, parts, x, y, sigma[0]);
    });
    parts = std::move(next);
  }
  const Rect& blocks = field.blocks();
  for (int32_t y = blocks.y; y < blocks.bottom(); ++y) {
    for (int32_t x = blocks.x; x < blocks.right(); ++x) {
      const Part& by = parts.at(x, y);
      field.block(x, y) = {eighths(2 * by.right), eighths(2 * by.down), goes_as_round(parts, x, y)};
    }
  }
  return field;
}

}  // namespace grainless
