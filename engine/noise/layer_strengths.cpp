// SPDX-License-Identifier: MIT
#include "layer_strengths.h"

#include <algorithm>
#include <cmath>

#include "flat_blocks.h"
#include "motion.h"
#include "volume_noise.h"

namespace grainless {
namespace {

// Where a layer holds next to nothing it still doesn't weigh beyond measure: of the noisiest one.
constexpr float kLeastStrength = 0.02f;

// Layers of which something was measured, by their numbers. One that is empty, or white for the
// most part, says nothing of the others; one too small to be sure of what it holds says the least
// that it does.
std::vector<size_t> telling(const std::vector<PictureNoise>& found) {
  std::vector<size_t> those;
  for (size_t z = 0; z < found.size(); ++z) {
    const bool nothing = found[z].confidence == Confidence::kTooSmall && found[z].sigma[0][0] == 0;
    if (!nothing) those.push_back(z);
  }
  return those;
}

// What the layers hold, on average, of a level and channel.
double mean_square(const std::vector<PictureNoise>& layers, int32_t level, int32_t channel) {
  double sum = 0;
  for (const PictureNoise& layer : layers) sum += std::pow(layer.sigma[level][channel], 2);
  return sum / static_cast<double>(layers.size());
}

}  // namespace

bool differ_in_strength(const std::vector<PictureNoise>& found, const std::vector<Sample>& samples,
                        ThreadPool& pool) {
  constexpr float kClearly = 1.25f;
  // Flat blocks hold some texture, and what is measured of a layer varies, but not both alike.
  constexpr double kLeastMore = 0.5, kAbout = 0.25, kLeastOfMost = 0.3;
  const std::vector<size_t> those = telling(found);
  if (those.size() < 2 || 2 * those.size() <= found.size()) return false;
  const auto luma = [&](size_t z) { return found[z].sigma[0][0]; };
  const auto calmer = [&](size_t a, size_t b) { return luma(a) < luma(b); };
  const size_t calmest = *std::min_element(those.begin(), those.end(), calmer);
  const size_t noisiest = *std::max_element(those.begin(), those.end(), calmer);
  if (found[noisiest].confidence != Confidence::kMeasured) return false;
  if (luma(noisiest) <= kClearly * luma(calmest)) return false;
  const auto flat = [&](size_t z) { return std::pow(flat_luma(samples[z], pool), 2); };
  const double least = std::pow(luma(calmest), 2), of_calmest = flat(calmest);
  return std::all_of(those.begin(), those.end(), [&](size_t z) {
    const double more = std::pow(luma(z), 2) - least, seen = flat(z) - of_calmest;
    const double least_seen = z == noisiest ? kLeastOfMost * more : -HUGE_VAL;
    return seen >= std::max(kLeastMore * more - kAbout * of_calmest, least_seen);
  });
}

NoiseModel noise_of_different(const std::vector<PictureNoise>& found) {
  std::vector<PictureNoise> told;
  for (const size_t z : telling(found)) told.push_back(found[z]);
  NoiseModel noise{mean_noise(told, HUGE_VAL)};
  const auto fewest = [](const PictureNoise& a, const PictureNoise& b) {
    return a.levels < b.levels;
  };
  noise.levels = std::min_element(told.begin(), told.end(), fewest)->levels;
  float most = 0;
  for (const PictureNoise& layer : told) most = std::max(most, layer.sigma[0][0]);
  const auto luma = [&](const PictureNoise& layer) {
    return std::max(layer.sigma[0][0], kLeastStrength * most);
  };
  double weights = 0;
  for (const PictureNoise& layer : told) weights += 1 / std::pow(luma(layer), 2);
  const double mean = std::sqrt(static_cast<double>(told.size()) / weights);
  for (int32_t l = 0; l < noise.levels; ++l) {
    for (int32_t c = 0; c < noise.channels; ++c) {
      const double share = mean_square(told, l, c) / mean_square(told, 0, 0);
      noise.sigma[l][c] = static_cast<float>(mean * std::sqrt(share));
    }
  }
  noise.confidence = Confidence::kMeasured;
  std::vector<double> strengths;
  for (const PictureNoise& layer : told) strengths.push_back(luma(layer) / mean);
  LayerStrengths& all = noise.stack.strengths;
  all.count = static_cast<int32_t>(found.size());
  std::fill_n(all.of, found.size(), static_cast<float>(median(strengths)));
  size_t next = 0;
  for (const size_t z : telling(found)) all.of[z] = static_cast<float>(strengths[next++]);
  return noise;
}

}  // namespace grainless
