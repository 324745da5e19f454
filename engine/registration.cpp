// SPDX-License-Identifier: MIT
#include "registration.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "engine/boundary/pyramid.h"
#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/frame/pyramid.h"
#include "engine/noise/linear_system.h"
#include "engine/progress.h"
#include "float_picture.h"

namespace grainless {
namespace {

constexpr int32_t kFineSide = 512, kCoarseSide = 96;  // of the longer side, at most
constexpr int32_t kMostPart = 4;                      // of a side that a layer is displaced by
constexpr double kNear = 8;        // pixels: what is found block by block without
constexpr double kMostMore = 0.2;  // enlarged or turned by
// How far they correlate when they are brought together, and of what keeps them from it as they are
// how much is left.
constexpr double kLeastAlike = 0.3, kMostLeft = 0.9, kMostLeftFar = 0.6;

// Luma, at resolutions from `first` on.
struct Levels {
  int32_t width, height, first;  // of the layer
  std::vector<Planes> level;

  int32_t last() const { return first + static_cast<int32_t>(level.size()) - 1; }
  const Planes& at(int32_t l) const { return level[static_cast<size_t>(l - first)]; }
  double radius() const { return 0.5 * std::max(width, height); }
  // In pixels of full resolution, from the middle.
  PicturePoint point(int32_t l, int32_t x, int32_t y) const {
    const double side = 1 << l;
    return point_of((x + 0.5) * side - 0.5, (y + 0.5) * side - 0.5, width, height);
  }
};

int32_t level_of(const ConstImage& layer, int32_t side) {
  int32_t level = 0;
  while (level_size(std::max(layer.width, layer.height), level) > side) ++level;
  return level;
}

// Luma of some rows of a level.
Planes luma_rows(const Plan& pixels, const ConstImage& layer, int32_t level, const Rect& rows,
                 ThreadPool& pool) {
  std::vector<Rect> rects{rows};
  for (int32_t l = level; l > 0; --l) {
    const Rect all{0, 0, level_size(layer.width, l - 1), level_size(layer.height, l - 1)};
    rects.push_back(intersect(doubled(rects.back()), all));
  }
  Planes planes = planes_from_pixels(pixels, source_tile(layer), rects.back(), pool);
  for (int32_t l = 1; l <= level; ++l) {
    Planes coarse(1, rects[static_cast<size_t>(level - l)]);
    halve(planes, {0, 0, level_size(layer.width, l - 1), level_size(layer.height, l - 1)}, coarse,
          pool);
    planes = std::move(coarse);
  }
  return planes;
}

Levels levels_of(const ConstImage& layer, ThreadPool& pool, const Callbacks& callbacks) {
  constexpr int32_t kRows = 256;  // of full resolution, in a strip
  Levels levels{layer.width, layer.height, level_of(layer, kFineSide), {}};
  const Plan pixels = plain_pixels(layer.format);
  const int32_t first = levels.first, rows = std::max(1, kRows >> first);
  const Rect all{0, 0, level_size(layer.width, first), level_size(layer.height, first)};
  Planes fine(1, all);
  for (int32_t y = 0; y < all.height; y += rows) {
    throw_if_cancelled(callbacks);
    const Rect strip = intersect({0, y, all.width, rows}, all);
    const Planes luma = luma_rows(pixels, layer, first, strip, pool);
    for (int32_t row = y; row < strip.bottom(); ++row) {
      std::memcpy(fine.at(0, 0, row), luma.at(0, 0, row),
                  static_cast<size_t>(all.width) * sizeof(float));
    }
  }
  levels.level.push_back(std::move(fine));
  for (int32_t l = first + 1; l <= level_of(layer, kCoarseSide); ++l) {
    Planes coarse(1, {0, 0, level_size(layer.width, l), level_size(layer.height, l)});
    halve(levels.at(l - 1), levels.at(l - 1).rect(), coarse, pool);
    levels.level.push_back(std::move(coarse));
  }
  return levels;
}

// Of pairs of values.
struct Correlation {
  double count = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;

  void add(double v, double w) {
    ++count;
    a += v;
    b += w;
    aa += v * v;
    bb += w * w;
    ab += v * w;
  }
  // 1 where they are the same but for contrast and brightness; 0 where nothing tells.
  double coefficient() const {
    const double variances = (aa - a * a / count) * (bb - b * b / count);
    return variances > 0 ? (ab - a * b / count) / std::sqrt(variances) : 0;
  }
};

// Of two planes' common part, the second one displaced.
double correlation(const Planes& own, const Planes& other, int32_t right, int32_t down) {
  const Rect& all = own.rect();
  const Rect common = intersect(all, {-right, -down, all.width, all.height});
  Correlation sums;
  for (int32_t y = common.y; y < common.bottom(); ++y) {
    const float* one = own.at(0, common.x, y);
    const float* there = other.at(0, common.x + right, y + down);
    for (int32_t x = 0; x < common.width; ++x) sums.add(one[x], there[x]);
  }
  return sums.coefficient();
}

// What correlates best, unless others correlate nearly as well.
std::optional<Similarity> best_displacement(const Levels& own, const Levels& other,
                                            ThreadPool& pool) {
  constexpr int32_t kBeside = 2;     // pixels that belong to a maximum
  constexpr double kMostLike = 0.8;  // of what keeps the others from it
  const int32_t level = own.last();
  const Planes &one = own.at(level), &there = other.at(level);
  const int32_t across = one.rect().width / kMostPart, along = one.rect().height / kMostPart;
  const int32_t span = 2 * across + 1;
  std::vector<double> found(static_cast<size_t>(span) * (2 * along + 1));
  pool.parallel_for(2 * along + 1, [&](int32_t row, int32_t) {
    for (int32_t i = 0; i < span; ++i) {
      found[static_cast<size_t>(row) * span + i] = correlation(one, there, i - across, row - along);
    }
  });
  const auto best =
      static_cast<int32_t>(std::max_element(found.begin(), found.end()) - found.begin());
  double others = -1;
  for (int32_t i = 0; i < static_cast<int32_t>(found.size()); ++i) {
    const int32_t right = i % span - best % span, down = i / span - best / span;
    if (std::max(std::abs(right), std::abs(down)) <= kBeside) continue;
    others = std::max(others, found[static_cast<size_t>(i)]);
  }
  if (1 - found[static_cast<size_t>(best)] > kMostLike * (1 - others)) return {};
  const double side = 1 << level;
  return Similarity{{side * (best % span - across), side * (best / span - along)}, {}};
}

// right, down, larger, turned, lighter; the middle two by what becomes of a radius.
constexpr size_t kUnknowns = 5;

// What is left where a place of one layer is compared with its own in the other one, and what each
// unknown would change.
struct Residual {
  double left;
  Vector<kUnknowns> slope;
};

// Compares two layers at a level.
class Comparison {
 public:
  Comparison(const Levels& own, const Levels& other, int32_t level)
      : own_(own), level_(level), a_(own.at(level)), b_(other.at(level)) {}

  std::vector<Residual> residuals(const Similarity& by) const {
    std::vector<Residual> all;
    const Rect& rect = a_.rect();
    all.reserve(static_cast<size_t>(rect.area()));
    for (int32_t y = 0; y < rect.height; ++y) {
      for (int32_t x = 0; x < rect.width; ++x) add(by, x, y, all);
    }
    return all;
  }

  // Of the places that both layers have.
  double correlation(const Similarity& by) const {
    Correlation sums;
    const Rect& rect = a_.rect();
    for (int32_t y = 0; y < rect.height; ++y) {
      for (int32_t x = 0; x < rect.width; ++x) {
        Residual one;
        const double own = *a_.at(0, x, y);
        if (compare(by, x, y, one)) sums.add(own, own - one.left);
      }
    }
    return sums.coefficient();
  }

 private:
  void add(const Similarity& by, int32_t x, int32_t y, std::vector<Residual>& all) const {
    Residual one;
    if (compare(by, x, y, one)) all.push_back(one);
  }

  bool compare(const Similarity& by, int32_t x, int32_t y, Residual& one) const {
    const Rect& rect = b_.rect();
    const PicturePoint point = own_.point(level_, x, y);
    const PicturePoint moved = by.at(point) / static_cast<double>(1 << level_);
    const double at_x = x + moved.real(), at_y = y + moved.imag();
    const double left = std::floor(at_x), top = std::floor(at_y);
    if (!(left >= 0 && top >= 0 && left + 1 < rect.width && top + 1 < rect.height)) return false;
    const float* above = b_.at(0, static_cast<int32_t>(left), static_cast<int32_t>(top));
    const float* below = above + b_.stride();
    const double u = at_x - left, v = at_y - top;
    const double upper = above[0] + u * (double{above[1]} - above[0]);
    const double lower = below[0] + u * (double{below[1]} - below[0]);
    one.left = *a_.at(0, x, y) - (upper + v * (lower - upper));
    const double across =
        (1 - v) * (double{above[1]} - above[0]) + v * (double{below[1]} - below[0]);
    const double along = lower - upper;
    const PicturePoint radius = point / own_.radius();
    one.slope = {across, along, across * radius.real() + along * radius.imag(),
                 along * radius.real() - across * radius.imag(), 1};
    return true;
  }

  const Levels& own_;
  const int32_t level_;
  const Planes &a_, &b_;
};

// Half of them are no larger.
double median_size(const std::vector<Residual>& residuals) {
  std::vector<double> sizes;
  sizes.reserve(residuals.size());
  for (const Residual& one : residuals) sizes.push_back(std::abs(one.left));
  const auto middle = sizes.begin() + static_cast<ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

// What counts little is further off than that (Geman and McClure): three deviations.
double scale_of(const std::vector<Residual>& residuals) {
  constexpr double kDeviations = 3 * 1.4826, kLeast = 0.02;  // 8-bit steps
  return std::max(kLeast, kDeviations * median_size(residuals));
}

// What a step may change.
enum class Model { kDisplaced, kSimilar };

// A step of Gauss and Newton. False where the layers show too little.
bool improve(const Comparison& comparison, Model model, double side, double radius, Similarity& by,
             double& moved) {
  constexpr size_t kFewest = 64;
  const std::vector<Residual> residuals = comparison.residuals(by);
  if (residuals.size() < kFewest) return false;
  const double scale = scale_of(residuals);
  Matrix<kUnknowns> products{};
  Vector<kUnknowns> with{};
  const auto is_fixed = [&](size_t i) { return model == Model::kDisplaced && (i == 2 || i == 3); };
  for (const Residual& one : residuals) {
    const double off = one.left / scale, near = 1 / (1 + off * off), weight = near * near;
    for (size_t i = 0; i < kUnknowns; ++i) {
      if (is_fixed(i)) continue;
      for (size_t j = 0; j <= i; ++j) {
        if (!is_fixed(j)) products[i][j] += weight * one.slope[i] * one.slope[j];
      }
      with[i] += weight * one.slope[i] * one.left;
    }
  }
  constexpr double kSteady = 1e-4;  // of the squares' mean
  double squares = 0;
  for (size_t i = 0; i < 4; ++i) squares += products[i][i] / 4;
  for (size_t i = 0; i < kUnknowns; ++i) {
    if (i < 4) products[i][i] += kSteady * squares;
    for (size_t j = 0; j < i; ++j) products[j][i] = products[i][j];
  }
  const Vector<kUnknowns> step = solved(products, with);
  const PicturePoint more_by{step[0] * side, step[1] * side};
  const PicturePoint more{step[2] * side / radius, step[3] * side / radius};
  moved = (std::abs(more_by) + std::abs(more) * radius) / side;
  if (!std::isfinite(moved)) return false;
  by = {by.by + more_by, by.more + more};
  return true;
}

bool is_sensible(const Similarity& by, const Levels& levels) {
  const double side = std::min(levels.width, levels.height);
  return std::abs(by.more) < kMostMore && std::abs(by.by) < side / 2;
}

// What a displacement leads to, finer and finer; none where the layers show too little.
std::optional<Similarity> refined(const Levels& own, const Levels& other, Similarity by,
                                  Model model) {
  constexpr int32_t kMostSteps = 12;
  constexpr double kSmall = 0.01;  // pixels of the level
  for (int32_t level = own.last(); level >= own.first; --level) {
    const Comparison comparison(own, other, level);
    double moved = 1;
    for (int32_t step = 0; step < kMostSteps && moved > kSmall; ++step) {
      if (!improve(comparison, model, 1 << level, own.radius(), by, moved)) return {};
      if (!is_sensible(by, own)) return {};
    }
  }
  return by;
}

// How the second one's points are displaced: the simplest and nearest that nothing else is surely
// better than; none where they show different things. Fences and windows correlate in many places,
// and rods don't tell what is turned.
std::optional<Similarity> find_similarity(const Levels& own, const Levels& other,
                                          ThreadPool& pool) {
  const Comparison comparison(own, other, std::min(own.first + 1, own.last()));
  Similarity best;
  double alike = comparison.correlation(best);
  const auto consider = [&](const Similarity& from, Model model, double most_left) {
    const std::optional<Similarity> by = refined(own, other, from, model);
    if (!by) return;
    const double found = comparison.correlation(*by);
    if (1 - found > most_left * (1 - alike)) return;
    best = *by;
    alike = found;
  };
  consider({}, Model::kDisplaced, kMostLeft);
  const std::optional<Similarity> far = best_displacement(own, other, pool);
  if (far) consider(*far, Model::kDisplaced, kMostLeftFar);
  consider(best, Model::kSimilar, kMostLeft);
  if (alike < kLeastAlike) return {};
  return best;
}

// A layer, where it lies, and whether another one told that.
struct Placed {
  Levels levels;
  Similarity place;
  bool told = false;
};

// Where a layer lies by one that was placed, if they show the same.
std::optional<Similarity> place_by(const Placed& other, const Levels& levels, ThreadPool& pool) {
  const auto by = find_similarity(other.levels, levels, pool);
  if (!by) return {};
  const Similarity place = by->is_none() ? other.place : then(other.place, *by);
  return is_sensible(place, levels) ? place : other.place;
}

}  // namespace

void register_layers(std::span<const ConstImage> layers, ThreadPool& pool,
                     const Callbacks& callbacks, NoiseModel& noise) {
  const ConstImage& one = layers.front();
  LayerPlaces places{static_cast<int32_t>(layers.size()), one.width, one.height, {}};
  // What shows something else, as a title, may come between: then the last layer before it tells.
  Placed before{levels_of(one, pool, callbacks), {}};
  std::optional<Placed> other;
  for (size_t i = 1; i < layers.size(); ++i) {
    Placed own{levels_of(layers[i], pool, callbacks), before.place};
    std::optional<Similarity> place = place_by(before, own.levels, pool);
    if (!place) {
      if (other) place = place_by(*other, own.levels, pool);
      if (place || before.told || !other) other = std::move(before);
    }
    own.told = place.has_value();
    own.place = place.value_or(own.place);
    places.of[i] = own.place;
    before = std::move(own);
    callbacks.report(static_cast<double>(i + 1) / static_cast<double>(layers.size()));
  }
  if (places.farthest(places.count) > kNear) noise.stack.places = places;
}

SampleTile placed_tile(const LayerPlaces& places, int32_t z, int32_t other, const SampleTile& tile,
                       const ConstImage& layer) {
  const Similarity by = places.between(z, other, places.count, layer.width, layer.height);
  const PicturePoint middle =
      point_of(tile.x + 0.5 * tile.width, tile.y + 0.5 * tile.height, layer.width, layer.height);
  const PicturePoint moved = by.at(middle);
  SampleTile there = tile;
  there.x = std::clamp(tile.x + static_cast<int32_t>(std::lround(moved.real())), 0,
                       layer.width - tile.width);
  there.y = std::clamp(tile.y + static_cast<int32_t>(std::lround(moved.imag())), 0,
                       layer.height - tile.height);
  return there;
}

}  // namespace grainless
