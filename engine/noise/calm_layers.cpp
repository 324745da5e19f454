// SPDX-License-Identifier: MIT
#include "calm_layers.h"

#include <algorithm>
#include <cmath>

#include "flat_blocks.h"
#include "motion.h"

namespace grainless {
namespace {

bool is_sure(const PictureNoise& noise) {
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

// What a tenth of the blocks stay under: no less than the noise, also where there are too few for
// more. None without any.
double calmest_blocks(const Sample& sample, ThreadPool& pool) {
  constexpr size_t kFewest = 8;
  const std::vector<FlatBlock> blocks = measure_blocks(sample, 0, 16, 1, pool);
  if (blocks.size() < kFewest) return HUGE_VAL;
  return std::sqrt(quantile(blocks, 0.1, [](const FlatBlock& block) { return block.variance[0]; }));
}

}  // namespace

CalmLayers::CalmLayers(const std::vector<PictureNoise>& found, const std::vector<Sample>& samples,
                       ThreadPool& pool)
    : found_(found), flat_(found.size()), bound_(found.size(), HUGE_VAL) {
  std::vector<double> sure;
  for (const PictureNoise& noise : found) {
    if (is_sure(noise)) sure.push_back(noise.sigma[0][0]);
  }
  if (!sure.empty()) sigma_ = median(sure);
  if (sure.size() == found.size()) return;
  compare(samples, pool);
  if (sure.empty()) return;
  std::vector<double> flat_of_sure;
  for (size_t z = 0; z < found.size(); ++z) {
    const bool too_small = found[z].confidence == Confidence::kTooSmall;
    flat_[z] = too_small ? calmest_blocks(samples[z], pool) : flat_luma(samples[z], pool);
    if (is_sure(found[z])) {
      flat_of_sure.push_back(flat_[z]);
    } else {
      bound_[z] = least_bound(z);
    }
  }
  if (2 * sure.size() >= found.size()) usual_ = median(flat_of_sure);
}

void CalmLayers::compare(const std::vector<Sample>& samples, ThreadPool& pool) {
  const size_t count = samples.size();
  apart_.resize(count * count);
  pool.parallel_for(static_cast<int32_t>(count), [&](int32_t w, int32_t) {
    for (size_t z = 0; z < count; ++z) {
      apart_[w * count + z] = difference_of(samples[z], samples[static_cast<size_t>(w)]);
    }
  });
}

// Variances of independent noise add up. Layers that differ by less than the noise of one aren't.
double CalmLayers::least_bound(size_t z) const {
  double least = HUGE_VAL;
  for (size_t w = 0; w < found_.size(); ++w) {
    if (!is_sure(found_[w])) continue;
    const double known = std::pow(found_[w].sigma[0][0], 2);
    const double left = apart(z, w) - known;
    if (left > -0.1 * known) least = std::min(least, left);
  }
  return least;
}

// Of three layers each two differ by both variances. What they have in common, as a frame that is
// made of others does, or what is elsewhere in one, only makes less of the largest, or more of it.
double CalmLayers::variance_by_others(size_t z) const {
  double most = -HUGE_VAL;
  for (size_t w = 0; w < found_.size(); ++w) {
    for (size_t v = 0; v < w; ++v) {
      if (w == z || v == z || std::min({apart(z, w), apart(z, v), apart(w, v)}) <= 0) continue;
      most = std::max(most, 0.5 * (apart(z, w) + apart(z, v) - apart(w, v)));
    }
  }
  return most;
}

uint32_t CalmLayers::bits_by_others(double share) const {
  uint32_t calm = 0;
  std::vector<double> variance;
  double mean = 0;
  for (size_t z = 0; z < found_.size(); ++z) {
    variance.push_back(apart_.empty() ? -HUGE_VAL : variance_by_others(z));
    mean += std::max(0.0, variance.back()) / static_cast<double>(found_.size());
  }
  for (size_t z = 0; z < found_.size(); ++z) {
    const bool less = variance[z] > -0.05 * mean && variance[z] < share * share * mean;
    if (less) calm |= uint32_t{1} << z;
  }
  return calm;
}

bool CalmLayers::holds_less(size_t z, double share) const {
  constexpr double kFarLess = 0.6;
  const double most = std::pow(share * sigma_, 2);
  if (is_sure(found_[z])) return found_[z].sigma[0][0] < share * sigma_;
  if (bound_[z] < most) return true;
  const bool none = found_[z].sigma[0][0] == 0,
             little = found_[z].confidence == Confidence::kLittle;
  if (none && little && sigma_ > 0) return true;  // a drawing
  if ((none || little) && flat_[z] < share * sigma_) return true;
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
