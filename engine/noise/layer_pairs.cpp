// SPDX-License-Identifier: MIT
#include "layer_pairs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/progress.h"

namespace grainless {
namespace {

constexpr double kStillSquares = 0.6;

// Fine patterns that move by whole pixels show no gradient of it. Of noise a displacement leaves
// nearly all.
bool is_displaced(const LayerPair& pair) {
  constexpr double kMostLeft = 0.25;
  std::vector<double> left, whole;
  for (const PairBlock& block : pair.blocks) {
    if (!block.traced) continue;
    left.push_back(block.left.variance[0][0]);
    whole.push_back(block.variance[0][0]);
  }
  return !left.empty() && median(std::move(left)) < kMostLeft * median(std::move(whole));
}

bool is_still(const LayerPair& pair, double share) {
  if (is_displaced(pair)) return false;
  const auto squares = static_cast<double>(pair.still + pair.changed);
  return static_cast<double>(pair.still) >= share * squares;
}

bool mostly_still(const LayerPair& pair) {
  return is_still(pair, kStillSquares);
}

// Each pair that tells anything: one layer that shows something else would be averaged into the
// others where it differs by less than their noise.
bool stand_still(const std::vector<LayerPair>& pairs) {
  const auto any = [](const LayerPair& pair) { return pair.still > 0; };
  return std::all_of(pairs.begin(), pairs.end(), mostly_still) &&
         std::any_of(pairs.begin(), pairs.end(), any);
}

// What drifts slowly shows from the first to the last.
bool stand_still(const Pairs& pairs) {
  const bool few = pairs.near.size() < 3, two = pairs.near.size() < 2;
  const std::vector<LayerPair>& furthest = two ? pairs.near : few ? pairs.far : pairs.ends;
  return stand_still(pairs.near) && stand_still(furthest);
}

// Of all pairs of so many layers in a row. What shakes differs by as much however far apart; what
// drifts, by more and more from two steps to the ends.
template <typename Of>
double mean_of(const Pairs& pairs, int32_t layers, const Of& of) {
  const auto mean = [&](const std::vector<LayerPair>& some) {
    double sum = 0;
    for (const LayerPair& pair : some) sum += of(pair);
    return sum / static_cast<double>(std::max<size_t>(1, some.size()));
  };
  const double near = mean(pairs.near), far = mean(pairs.far), ends = mean(pairs.ends);
  const auto most = static_cast<double>(pairs.near.size());
  double sum = (layers - 1) * near + (layers - 2) * far;
  for (int32_t steps = 3; steps < layers; ++steps) {
    sum += (layers - steps) * std::lerp(far, ends, (steps - 2) / (most - 2));
  }
  return sum / (0.5 * layers * (layers - 1));
}

// A mean of n layers in a row holds an n-th of their noise, and is blurred by what displacements
// make all pairs of them differ by, on average: a few pairs may differ by more. (356 bursts of four
// that shake or drift: up to 0.13 the mean was better by up to 2 dB, and worse by 0.3 at most; from
// 0.17 on it was worse.)
bool differ_little(const Pairs& pairs, int32_t layers) {
  constexpr double kMostShare = 0.13;
  return mean_of(pairs, layers, [](const LayerPair& pair) { return pair.share; }) <= kMostShare;
}

// Of many pairs one is more often short of what all of them are together than of few.
bool stand_still_on_average(const Pairs& pairs, int32_t layers) {
  const auto of = [](const LayerPair& pair) {
    const auto squares = static_cast<double>(pair.still + pair.changed);
    return squares > 0 ? static_cast<double>(pair.still) / squares : 1;
  };
  return mean_of(pairs, layers, of) >= kStillSquares;
}

}  // namespace

std::vector<LayerPair> compare_apart(const Comparison& comparison, size_t steps, Apart apart) {
  const auto& [samples, known, still, pool, callbacks] = comparison;
  std::vector<LayerPair> pairs(samples.size() - std::min(steps, samples.size()));
  pool.parallel_for(static_cast<int32_t>(pairs.size()), [&](int32_t index, int32_t) {
    throw_if_cancelled(callbacks);
    const auto i = static_cast<size_t>(index);
    pairs[i] = compare_layers(samples[i], samples[i + steps], known, apart, still);
  });
  return pairs;
}

Pairs compare_all(const Comparison& comparison, bool averaged) {
  const size_t layers = comparison.samples.size();
  const auto at = [&](size_t steps, Apart apart) {
    return compare_apart(comparison, steps, averaged ? Apart::kOnAverage : apart);
  };
  Pairs pairs{at(1, Apart::kNext), at(2, Apart::kFurther), {}};
  if (layers > 3) pairs.ends = at(layers - 1, Apart::kFurther);
  return pairs;
}

bool has_moved(const LayerPair& pair) {
  constexpr double kMostExplained = 0.3, kMostPixels = 0.4;
  constexpr double kDriftExplained = 0.15, kDriftPixels = 0.8;
  // Too small a picture to tell.
  if (pair.still + pair.changed == 0) return true;
  if (is_displaced(pair) || pair.differs_in_sharpness()) return true;
  // All of it by a pixel, under noise that explains most of the difference.
  if (pair.together() && pair.share > kDriftExplained && pair.pixels > kDriftPixels) return true;
  return pair.hidden && !mostly_still(pair) && pair.share > kMostExplained &&
         pair.pixels > kMostPixels;
}

bool mostly_still(const std::vector<LayerPair>& pairs) {
  const auto still = std::count_if(pairs.begin(), pairs.end(),
                                   [](const LayerPair& pair) { return mostly_still(pair); });
  return 2 * static_cast<size_t>(still) >= pairs.size();
}

bool move_together(const std::vector<LayerPair>& pairs) {
  LayerPair all;
  size_t more = 0;  // squares beyond the first of a pair, which agrees with itself
  for (const LayerPair& pair : pairs) {
    if (pair.apart()) return false;
    if (pair.sure < 2) continue;
    more += pair.sure - 1;
    all.sure += pair.sure;
    all.alike += pair.alike;
  }
  return more + 1 >= LayerPair::kFewestSure && all.agrees();
}

bool differ_in_sharpness(const Pairs& pairs) {
  const auto any = [](const std::vector<LayerPair>& some) {
    return std::any_of(some.begin(), some.end(),
                       [](const LayerPair& pair) { return pair.differs_in_sharpness(); });
  };
  return any(pairs.near) || any(pairs.far) || any(pairs.ends);
}

int32_t reach_of(const Comparison& comparison, bool still, Pairs& pairs) {
  const auto layers = static_cast<int32_t>(comparison.samples.size());
  const int32_t fewest = std::min(layers, 3);
  if (stand_still(pairs)) return kAllLayers;
  if (still || (!differ_little(pairs, layers) && !differ_little(pairs, fewest))) return 0;
  pairs = compare_all(comparison, true);
  // One that shows something else does so beside its neighbours.
  const auto shows_same = [](const LayerPair& pair) { return is_still(pair, 0.5 * kStillSquares); };
  if (!std::all_of(pairs.near.begin(), pairs.near.end(), shows_same)) return 0;
  const auto averaged = [&](int32_t count) {
    return differ_little(pairs, count) && stand_still_on_average(pairs, count);
  };
  if (averaged(layers)) return kAllLayers;
  int32_t reach = (layers - 2) / 2;
  while (reach > 0 && !averaged(2 * reach + 1)) --reach;
  return reach;
}

}  // namespace grainless
