// SPDX-License-Identifier: MIT
// Layers of a stack that hold far less noise than the others.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/thread_pool.h"
#include "model.h"
#include "sample.h"

namespace grainless {

// Layers that gain nothing by others, as which shows nearly the same at the stack's noise may show
// something else: those that surely hold less than this share of what the sure ones do.
class CalmLayers {
 public:
  CalmLayers(const std::vector<NoiseModel>& found, const std::vector<Sample>& samples,
             ThreadPool& pool);

  uint32_t bits(double share) const;  // a bit each
  // The same of layers that stand still, of which not all are sure: by what they differ by, where
  // the share is that of their mean variance's root.
  uint32_t bits_by_others(double share) const;

 private:
  void compare(const std::vector<Sample>& samples, ThreadPool& pool);
  double apart(size_t z, size_t w) const { return apart_[w * found_.size() + z]; }
  double least_bound(size_t z) const;
  double variance_by_others(size_t z) const;
  bool holds_less(size_t z, double share) const;

  std::vector<NoiseModel> found_;
  std::vector<double> apart_;  // mean square of what each two differ by, where not all are sure
  // Of layers that aren't sure: what their flat blocks show, which is no less than their noise, and
  // the most that what they differ by from sure ones leaves for their variance.
  std::vector<double> flat_, bound_;
  double sigma_ = 0;  // of the sure layers
  double usual_ = 0;  // what their flat blocks show, where they are most
};

}  // namespace grainless
