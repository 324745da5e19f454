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
  // The largest count whose work is at most so much.
  int32_t most_of_work(double work) const {
    if (work < length) return 0;
    return halo == 0 ? length : static_cast<int32_t>((work - length) / halo) + 1;
  }
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

  // Of every number of columns the fewest rows that fit: what a tile takes grows with its height.
  Grid choose() const {
    std::optional<Counts> best;
    for (int32_t columns = x_.least(request_.longest); columns <= x_.most(request_.shortest);
         ++columns) {
      const std::optional<Counts> found = fewest_rows(columns, best);
      if (found && (!best || is_better(*found, *best))) best = found;
    }
    return grid(best.value_or(Counts{x_.most(request_.shortest), y_.most(request_.shortest)}));
  }

 private:
  Axis axis(int32_t length) const { return {length, request_.halo, length}; }

  // None if they don't fit, or are more work than the best so far.
  std::optional<Counts> fewest_rows(int32_t columns, const std::optional<Counts>& best) const {
    int32_t least = std::max(y_.least(request_.longest), (request_.least_count - 1) / columns + 1);
    int32_t most = y_.most(request_.shortest);
    if (best) most = std::min(most, y_.most_of_work(work(*best) / x_.work(columns)));
    if (least > most || !fits({columns, most})) return std::nullopt;
    while (least < most) {
      const int32_t rows = least + (most - least) / 2;
      if (fits({columns, rows})) {
        most = rows;
      } else {
        least = rows + 1;
      }
    }
    return Counts{columns, least};
  }

  bool is_better(const Counts& counts, const Counts& best) const {
    const double difference = work(counts) - work(best);
    if (difference != 0) return difference < 0;
    return int64_t{counts.columns} * counts.rows < int64_t{best.columns} * best.rows;
  }

  bool fits(const Counts& counts) const {
    return request_.bytes(x_.input(counts.columns), y_.input(counts.rows)) <= request_.budget;
  }

  double work(const Counts& counts) const { return x_.work(counts.columns) * y_.work(counts.rows); }

  Grid grid(const Counts& counts) const {
    const auto [columns, rows] = counts;
    return {{x_.tile(columns), y_.tile(rows)},
            work(counts) / (1.0 * x_.length * y_.length),
            fits(counts)};
  }

  const GridRequest& request_;
  Axis x_, y_;
};

}  // namespace

Grid choose_grid(const GridRequest& request) {
  return GridSearch(request).choose();
}

}  // namespace grainless
