// SPDX-License-Identifier: MIT
#include "layer_tones.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pair_blocks.h"
#include "tone_profile.h"

namespace grainless {
namespace {

constexpr double kFlattest = 0.25;  // share of a tone's blocks
// Variances over the noise's, of flat blocks. Where layers have moved or brightness has changed
// they show more, and more at half resolution than the noise would.
constexpr double kLeast = 0.5, kCoarser = 1.3;
// A few tones say little of the others.
constexpr int32_t kFewestTones = 4;

// Over the noise's: mean of the channels that have any.
double relative_variance(const PairBlock& block, int32_t level, const PictureNoise& noise) {
  double sum = 0;
  int32_t noisy = 0;
  for (int32_t c = 0; c < noise.channels; ++c) {
    const double sigma = noise.sigma[level][c];
    if (sigma <= 0) continue;
    sum += block.variance[level][c] / (sigma * sigma);
    ++noisy;
  }
  return noisy > 0 ? sum / noisy : 0;
}

double median_of_flattest(const Blocks& blocks, int32_t level, const PictureNoise& noise) {
  const size_t flat =
      std::max(kFewestBlocks, static_cast<size_t>(kFlattest * static_cast<double>(blocks.size())));
  std::vector<double> variances;
  for (size_t i = 0; i < flat; ++i) {
    variances.push_back(relative_variance(*blocks[i], level, noise));
  }
  std::sort(variances.begin(), variances.end());
  return variances[flat / 2];
}

// What is measured of one picture is the noise of its flattest and calmest parts; a camera's is
// stronger in some tones than in others. Of the squares that count; tones that none of them has
// stay as they are. Returns how many tell.
template <typename Counts>
int32_t measure_tones(const std::vector<LayerPair>& near, const Counts& counts, NoiseModel& noise) {
  constexpr double kSteady = 1.5;  // a tone's noise is not quite the same in all its blocks
  for (int32_t c = 0; c < noise.channels; ++c) {
    if (noise.levels < 2 || noise.sigma[0][c] <= 0 || noise.sigma[1][c] <= 0) return 0;
  }
  std::vector<double> found[kNoiseTones];
  double share[kNoiseTones] = {};
  bool told[kNoiseTones] = {};
  for (const LayerPair& pair : near) {
    const Tones tones = tones_of(pair, [&](const PairBlock& block) { return counts(block.state); });
    for (int32_t t = 0; t < kNoiseTones; ++t) {
      const Blocks& blocks = tones.blocks[t];
      share[t] += static_cast<double>(blocks.size());
      if (!is_steady(blocks, kSteady)) continue;
      const double fine = median_of_flattest(blocks, 0, noise);
      const double half = median_of_flattest(blocks, 1, noise);
      if (fine > kMostVariance || half > kCoarser * std::max(1.0, fine)) continue;
      found[t].push_back(fine);
      told[t] = told[t] || !mostly_clipped(blocks);
    }
  }
  const auto count = static_cast<int32_t>(std::count(told, told + kNoiseTones, true));
  if (count == 0) return 0;
  float* tones = noise.stack.tones;
  fill_gaps(found, tones);
  double sum = 0, squares = 0;
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    sum += share[t] * tones[t];
    squares += share[t] * tones[t] * tones[t];
  }
  if (sum > 0) noise.stack.unevenness = static_cast<float>(std::sqrt(std::max(1.0, squares / sum)));
  return count;
}

// What is left when displacements are undone holds some of the picture, too, which mustn't count as
// bright tones' noise: a camera's is strongest in dark ones.
int32_t measure_undone_tones(const std::vector<LayerPair>& near, NoiseModel& noise) {
  constexpr float kMostRise = 1.25f;
  // Sharp pictures that moved by parts of a pixel leave up to 1.4.
  constexpr float kWeak = 2;
  constexpr double kWhole = 0.1;
  const auto by_parts = [](const LayerPair& pair) { return pair.parts > kWhole; };
  if (noise.sigma[0][0] < kWeak && std::any_of(near.begin(), near.end(), by_parts)) return 0;
  const Blocks blocks = calmest_blocks(near, noise.sigma[0][0]);
  if (blocks.empty() || !is_left_noise(blocks)) return 0;
  NoiseModel found = noise;
  const int32_t told = measure_tones(
      undone(near), [](SquareState state) { return state != SquareState::kChanged; }, found);
  const float *first = found.stack.tones, *middle = first + kNoiseTones / 2;
  const float dark = std::accumulate(first, middle, 0.0f);
  if (std::accumulate(middle, first + kNoiseTones, 0.0f) > kMostRise * dark) return 0;
  noise = found;
  return told;
}

// Where few tones stood still, or none as noisy as what was measured, layers show how noise depends
// on brightness no better than each alone.
bool each_tells_tones(const StackNoise& stack) {
  constexpr float kAsNoisy = 0.8f;  // variance
  const float most = *std::max_element(stack.tones, stack.tones + kNoiseTones);
  return stack.alone.known &&
         (stack.doubted_tones || stack.told_tones < kFewestTones || most < kAsNoisy);
}

NoiseModel noise_alone(const NoiseModel& noise) {
  const EvenNoise& even = noise.stack.alone;
  NoiseModel alone = noise;
  alone.bend = even.bend;
  alone.bend.clip = noise.stack.clip;
  alone.stack.unevenness = 1;
  for (int32_t c = 0; c < noise.channels; ++c) {
    for (int32_t l = 0; l < noise.levels; ++l) alone.sigma[l][c] = even.sigma[l][c];
    alone.white[c] = even.white[c];
    alone.strength[c] = even.strength[c];
  }
  return alone;
}

// Variance at a tone's middle, over that of sigma.
double variance_at(const PictureNoise& even, int32_t tone, double sigma) {
  const double middle = (tone + 0.5) * 256 / kNoiseTones;
  const double there = sigma_at(even, 0, static_cast<float>(middle)) / sigma;
  return there * there;
}

}  // namespace

void fill_gaps(const std::vector<double>* found, float* tones) {
  double known[kNoiseTones];
  int32_t last = -1;
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    if (found[t].empty()) continue;
    std::vector<double> sorted = found[t];
    std::sort(sorted.begin(), sorted.end());
    known[t] = std::max(kLeast, sorted[(sorted.size() - 1) / 2]);
    for (int32_t i = last + 1; i <= t; ++i) {
      const double part = last < 0 ? 1.0 : static_cast<double>(i - last) / (t - last);
      tones[i] = static_cast<float>(part * known[t] + (1 - part) * (last < 0 ? 0 : known[last]));
    }
    last = t;
  }
  for (int32_t i = last + 1; i < kNoiseTones && last >= 0; ++i) {
    tones[i] = static_cast<float>(known[last]);
  }
}

void measure_all_tones(const std::vector<LayerPair>& near, float found, NoiseModel& noise) {
  StackNoise& stack = noise.stack;
  const auto unmoved = [&](SquareState state) {
    return state == SquareState::kShaken ? stack.between.known : state != SquareState::kChanged;
  };
  stack.told_tones = measure_tones(near, unmoved, noise);
  if (stack.told_tones == 0 && stack.still) {
    // So coarse that no square of it seems to stand still.
    stack.told_tones = measure_tones(near, [](SquareState) { return true; }, noise);
  }
  std::copy_n(stack.tones, kNoiseTones, stack.layer_tones);
  if (stack.told_tones > 0) return;
  stack.told_tones = measure_undone_tones(near, noise);
  // A filter has to take more of coarse noise, which it sees in few places, than its variance: as
  // much as is measured of each layer, but where that took texture for noise.
  const bool mistaken = noise.sigma[0][0] < found;
  stack.doubted_tones = stack.told_tones > 0 && !noise.white[0] && !mistaken;
}

void tell_layers_apart(NoiseModel& noise) {
  constexpr double kClearly = 1.1;
  const NoiseModel even = evened_noise(noise);
  if (each_tells_tones(noise.stack) && noise.sigma[0][0] > 0) {
    for (int32_t t = 0; t < kNoiseTones; ++t) {
      noise.stack.layer_tones[t] =
          static_cast<float>(std::max(kLeast, variance_at(even, t, noise.sigma[0][0])));
    }
  }
  // What no camera has smoothed each layer shows wherever it is, or flat parts between layers.
  const bool shown = noise.confidence == Confidence::kMeasured && noise.white[0];
  const bool everywhere = noise.stack.alone.known || noise.stack.told_tones >= kFewestTones;
  LayerDifference& between = noise.stack.between;
  if (!between.known || !shown) return;
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    if (!everywhere && between.flat[t] <= 0) continue;
    const double alone = variance_at(even, t, between.sigma[0][0]);
    const double most = kClearly * kClearly * std::max<double>(alone, between.flat[t]);
    between.tones[t] = std::min(between.tones[t], static_cast<float>(most));
  }
}

NoiseModel evened_noise(const NoiseModel& noise) {
  if (each_tells_tones(noise.stack)) return noise_alone(noise);
  constexpr double kClearly = 1.15;  // strongest tone's sigma over the weakest's
  const float* tones = noise.stack.tones;
  const auto [least, most] = std::minmax_element(tones, tones + kNoiseTones);
  if (!noise.range.is_usual() || !(*most > kClearly * kClearly * *least)) return noise;
  // A tone's variance is that of its middle.
  const auto slope = [&](double brightness) {
    const double at = std::clamp(brightness * kNoiseTones / 256 - 0.5, 0.0, kNoiseTones - 1.0);
    const int32_t tone = std::min(static_cast<int32_t>(at), kNoiseTones - 2);
    const double part = at - tone;
    return 1 / std::sqrt((1 - part) * tones[tone] + part * tones[tone + 1]);
  };
  double scale = 0;
  NoiseModel even = noise;
  even.bend = bend_with(slope, scale);
  even.bend.clip = noise.stack.clip;
  even.stack.unevenness = 1;
  for (int32_t l = 0; l < even.levels; ++l) {
    for (int32_t c = 0; c < even.channels; ++c) even.sigma[l][c] *= static_cast<float>(scale);
  }
  return even;
}

}  // namespace grainless
