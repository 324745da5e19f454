// SPDX-License-Identifier: MIT
#include "tile_grid.h"

#include <algorithm>
#include <optional>

namespace grainless {
namespace {

// What a row or a column of tiles has along one axis.
struct Axis {
  int32_t length, halo;
  int32_t seen;  // of the image, by all tiles together

  int32_t tile(int32_t count) const { return (length - 1) / count + 1; }
  // Another device's tiles, or a first one of half the size, move the others: any has two halos.
  int32_t input(int32_t count) const {
    return static_cast<int32_t>(std::min<int64_t>(seen, int64_t{tile(count)} + 2 * halo));
  }
  double work(int32_t count) const { return length + double(count - 1) * halo; }
  int32_t least(int32_t longest) const { return (length - 1) / longest + 1; }
  int32_t most(int32_t shortest) const { return std::max(1, length / shortest); }
};

struct Counts {
  int32_t columns, rows;
};

class GridSearch {
 public:
  explicit GridSearch(const GridRequest& request)
      : request_(request), x_(axis(request.area.width)), y_(axis(request.area.height)) {
    const Rect seen = intersect(expand(request.area, request.halo), request.image);
    x_.seen = seen.width;
    y_.seen = seen.height;
  }

  Grid choose() const {
    // Bytes are nearly in proportion to pixels: what is asked for is a few tiles, not all of them.
    double pixels = 1.0 * x_.seen * y_.seen;
    const auto all = static_cast<double>(request_.bytes(x_.seen, y_.seen));
    const auto budget = static_cast<double>(request_.budget);
    if (all > budget) pixels *= budget / all;
    for (;;) {
      const std::optional<Counts> best = least_work(pixels);
      if (!best) return grid({x_.most(request_.shortest), y_.most(request_.shortest)});
      const Grid found = grid(*best);
      if (found.fits) return found;
      pixels = 0.9 * std::min(pixels, 1.0 * x_.input(best->columns) * y_.input(best->rows));
    }
  }

 private:
  Axis axis(int32_t length) const { return {length, request_.halo, length}; }

  // With tiles of at most so many pixels, halo and all.
  std::optional<Counts> least_work(double pixels) const {
    std::optional<Counts> best;
    const int32_t most = y_.most(request_.shortest);
    for (int32_t columns = x_.least(request_.longest); columns <= x_.most(request_.shortest);
         ++columns) {
      const int32_t rows = fewest_rows(columns, pixels);
      if (rows <= most && (!best || work({columns, rows}) < work(*best))) best = {columns, rows};
    }
    return best;
  }

  int32_t fewest_rows(int32_t columns, double pixels) const {
    const int32_t least =
        std::max(y_.least(request_.longest), (request_.least_count - 1) / columns + 1);
    const double height = pixels / x_.input(columns);
    if (height >= y_.seen) return least;
    const double tile = height - 2.0 * y_.halo;
    if (tile < 1) return INT32_MAX;
    return std::max(least, y_.least(static_cast<int32_t>(tile)));
  }

  double work(const Counts& counts) const { return x_.work(counts.columns) * y_.work(counts.rows); }

  Grid grid(const Counts& counts) const {
    const auto [columns, rows] = counts;
    return {{x_.tile(columns), y_.tile(rows)},
            work(counts) / (1.0 * x_.length * y_.length),
            request_.bytes(x_.input(columns), y_.input(rows)) <= request_.budget};
  }

  const GridRequest& request_;
  Axis x_, y_;
};

}  // namespace

Grid choose_grid(const GridRequest& request) {
  return GridSearch(request).choose();
}

}  // namespace grainless
