// SPDX-License-Identifier: MIT
// Layers of a stack that hold far less noise than the others.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/thread_pool.h"
#include "picture_noise.h"
#include "sample.h"

namespace grainless {

// Finds the layers that surely hold less than a share of the noise that the sure layers hold. Other
// layers add nothing to them, and what seems alike under the stack's noise may differ under theirs.
class CalmLayers {
 public:
  CalmLayers(const std::vector<PictureNoise>& found, const std::vector<Sample>& samples,
             ThreadPool& pool);

  uint32_t bits(double share) const;  // a bit for each layer
  // The same for still layers of which not all are sure, from their differences. There the share is
  // of the root of their mean variance.
  uint32_t bits_by_others(double share) const;

 private:
  void compare(const std::vector<Sample>& samples, ThreadPool& pool);
  double apart(size_t z, size_t w) const { return apart_[w * found_.size() + z]; }
  double least_bound(size_t z) const;
  double variance_by_others(size_t z) const;
  bool holds_less(size_t z, double share) const;

  std::vector<PictureNoise> found_;
  std::vector<double> apart_;  // mean squared difference of each two layers, where not all are sure
  // For layers that aren't sure: what their flat blocks show, which is at least their noise, and
  // the largest variance that their differences from sure layers allow.
  std::vector<double> flat_, bound_;
  double sigma_ = 0;  // of the sure layers
  double usual_ = 0;  // what the sure layers' flat blocks show, where most are sure
};

}  // namespace grainless
