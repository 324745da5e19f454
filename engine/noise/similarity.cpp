// SPDX-License-Identifier: MIT
#include "similarity.h"

namespace grainless {

double LayerPlaces::farthest(int32_t depth) const {
  double most = 0;
  for (int32_t z = 0; z < count; ++z) {
    for (int32_t other = std::max(0, z - depth); other < std::min(count, z + depth + 1); ++other) {
      const Similarity by = between(z, other, count, width, height);
      for (const double x : {-0.5, 0.5}) {
        for (const double y : {-0.5, 0.5}) {
          most = std::max(most, std::abs(by.at({x * width, y * height})));
        }
      }
    }
  }
  return most;
}

}  // namespace grainless
