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
// something else: those that surely hold less than this share of what most surely do.
class CalmLayers {
 public:
  CalmLayers(const std::vector<NoiseModel>& found, const std::vector<Sample>& samples,
             ThreadPool& pool);

  uint32_t bits(double share) const;  // a bit each

 private:
  double least_bound(size_t z, const std::vector<Sample>& samples) const;
  bool holds_less(size_t z, double share) const;

  std::vector<NoiseModel> found_;
  // Of layers that aren't sure: what their flat blocks show, which is no less than their noise, and
  // the most that what they differ by from sure ones leaves for their variance.
  std::vector<double> flat_, bound_;
  double sigma_ = 0, usual_ = 0;  // of most layers, and their flat blocks
};

}  // namespace grainless
