// SPDX-License-Identifier: MIT
#include "calm_layers.h"

#include <algorithm>
#include <cmath>

#include "flat_blocks.h"
#include "motion.h"

namespace grainless {
namespace {

bool is_sure(const NoiseModel& noise) {
  return noise.confidence == Confidence::kMeasured;
}

// Mean square of what luma differs by; less than 0 where nothing can be compared.
double difference_of(const Sample& a, const Sample& b) {
  double sum = 0;
  int64_t count = 0;
  for (size_t t = 0; t < std::min(a.tiles.size(), b.tiles.size()); ++t) {
    const SampleTile &one = a.tiles[t], &other = b.tiles[t];
    for (size_t i = 0; i < std::min(one.state.size(), other.state.size()); ++i) {
      if (((one.state[i] | other.state[i]) & (kInvalid | kClipped)) != 0) continue;
      sum += std::pow(one.plane[0][0][i] - other.plane[0][0][i], 2);
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : -1;
}

}  // namespace

CalmLayers::CalmLayers(const std::vector<NoiseModel>& found, const std::vector<Sample>& samples,
                       ThreadPool& pool)
    : found_(found), flat_(found.size()), bound_(found.size(), HUGE_VAL) {
  std::vector<double> sure;
  for (const NoiseModel& noise : found) {
    if (is_sure(noise)) sure.push_back(noise.sigma[0][0]);
  }
  if (sure.empty() || 2 * sure.size() < found.size()) return;
  sigma_ = median(sure);
  if (sure.size() == found.size()) return;
  std::vector<double> flat_of_sure;
  for (size_t z = 0; z < found.size(); ++z) {
    flat_[z] = flat_luma(samples[z], pool);
    if (is_sure(found[z])) {
      flat_of_sure.push_back(flat_[z]);
    } else {
      bound_[z] = least_bound(z, samples);
    }
  }
  usual_ = median(flat_of_sure);
}

// Variances of independent noise add up. Layers that differ by less than the noise of one aren't.
double CalmLayers::least_bound(size_t z, const std::vector<Sample>& samples) const {
  double least = HUGE_VAL;
  for (size_t w = 0; w < samples.size(); ++w) {
    if (!is_sure(found_[w])) continue;
    const double known = std::pow(found_[w].sigma[0][0], 2);
    const double left = difference_of(samples[z], samples[w]) - known;
    if (left > -0.1 * known) least = std::min(least, left);
  }
  return least;
}

bool CalmLayers::holds_less(size_t z, double share) const {
  constexpr double kFarLess = 0.6;
  const double most = std::pow(share * sigma_, 2);
  if (is_sure(found_[z])) return found_[z].sigma[0][0] < share * sigma_;
  if (bound_[z] < most) return true;
  // Flat blocks of one scene differ by the noise alone; those of another one hold all of theirs.
  const double less = std::pow(usual_, 2) - std::pow(flat_[z], 2);
  return flat_[z] > 0 && flat_[z] < kFarLess * std::min(sigma_, usual_) &&
         less > std::pow(sigma_, 2) - most;
}

uint32_t CalmLayers::bits(double share) const {
  uint32_t calm = 0;
  for (size_t z = 0; z < found_.size(); ++z) {
    if (holds_less(z, share)) calm |= uint32_t{1} << z;
  }
  return calm;
}

}  // namespace grainless
