// SPDX-License-Identifier: MIT
#include "black_lift.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dark_tones.h"
#include "engine/boundary/pixel_math.h"

namespace grainless {
namespace {

// Linear light, 0..1: the deviation at x is sqrt(read^2 + shot * x).
struct SensorNoise {
  double read, shot;

  // Of the x that is z deviations.
  double deviation(double z) const {
    return 0.5 * (shot * z + std::sqrt(shot * shot * z * z + 4 * read * read));
  }
};

double encoded(double linear) {
  const double x = std::clamp(linear, 0.0, 1.0);
  return 255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055);
}

// Calls take(value, weight) for what noise makes of x = z deviations, in steps.
template <typename Take>
void for_noisy_values(double z, double deviation, const Take& take) {
  constexpr double kStep = 0.25, kMost = 4;
  for (double n = -kMost; n <= kMost; n += kStep) {
    take(encoded(deviation * (z + n)), std::exp(-0.5 * n * n));
  }
}

double noisy_mean(double z, double deviation) {
  double sum = 0, weights = 0;
  for_noisy_values(z, deviation, [&](double value, double weight) {
    sum += weight * value;
    weights += weight;
  });
  return sum / weights;
}

// The z that a normal variable exceeds with probability `share`.
double exceeded_by(double share) {
  double low = -8, high = 8;
  for (int32_t i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(middle / std::sqrt(2.0)) > share ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// A tone that shows how much of its noise was cut off.
struct Witness {
  double mean, z, weight;
};

std::vector<Witness> witnesses_of(const DarkTones& tones) {
  constexpr int64_t kFewest = 12, kEnough = 200;
  constexpr double kLeast = 0.05, kMost = 0.5;  // of a tone's values are black
  std::vector<Witness> witnesses;
  for (const DarkTone& tone : tones) {
    if (tone.halves < kFewest || tone.zeros < kLeast || tone.zeros > kMost) continue;
    const auto weight = static_cast<double>(std::min(tone.halves, kEnough));
    witnesses.push_back({tone.mean, exceeded_by(tone.zeros), weight});
  }
  return witnesses;
}

bool are_enough(const std::vector<Witness>& witnesses) {
  constexpr size_t kFewestTones = 6;
  constexpr double kFewestHalves = 100;
  double halves = 0;
  for (const Witness& witness : witnesses) halves += witness.weight;
  return witnesses.size() >= kFewestTones && halves >= kFewestHalves;
}

// The root of the witnesses' weighted mean squared relative error.
double error_of(const SensorNoise& noise, const std::vector<Witness>& witnesses) {
  double squares = 0, weights = 0;
  for (const Witness& witness : witnesses) {
    const double mean = noisy_mean(witness.z, noise.deviation(witness.z));
    const double error = (mean - witness.mean) / witness.mean;
    squares += witness.weight * error * error;
    weights += witness.weight;
  }
  return std::sqrt(squares / weights);
}

struct Fit {
  SensorNoise noise;
  double error;
};

// The best of the sensors around `centre`, 2 * steps + 1 of each kind, `factor` apart.
Fit best_near(const SensorNoise& centre, int32_t steps, double factor,
              const std::vector<Witness>& witnesses) {
  Fit best{centre, HUGE_VAL};
  for (int32_t i = -steps; i <= steps; ++i) {
    for (int32_t j = -steps; j <= steps; ++j) {
      const SensorNoise noise{centre.read * std::pow(factor, i), centre.shot * std::pow(factor, j)};
      const double error = error_of(noise, witnesses);
      if (error < best.error) best = {noise, error};
    }
  }
  return best;
}

Fit fitted(const std::vector<Witness>& witnesses) {
  constexpr SensorNoise kUsual{0.008, 0.004};
  constexpr double kCoarsest = 2, kFinest = 1.03;
  Fit best = best_near(kUsual, 4, kCoarsest, witnesses);
  for (double factor = std::sqrt(kCoarsest); factor > kFinest; factor = std::sqrt(factor)) {
    best = best_near(best.noise, 2, factor, witnesses);
  }
  return best;
}

// A tone of the scene: what it is, what its noisy pixels have on average and as deviation, what a
// filter makes of them, and how much of the picture it is.
struct SceneTone {
  double clean, mean, deviation, filtered, weight;
};

SceneTone scene_tone(double z, double deviation, const ToneBend& bend) {
  double sum = 0, squares = 0, bent_sum = 0, weights = 0;
  for_noisy_values(z, deviation, [&](double value, double weight) {
    sum += weight * value;
    squares += weight * value * value;
    weights += weight;
    if (bend.enabled) bent_sum += weight * double{bent(bend, static_cast<float>(value))};
  });
  const double mean = sum / weights;
  // A filter takes means of bent colours.
  const auto bent_mean = static_cast<float>(bent_sum / weights);
  return {.clean = encoded(z * deviation),
          .mean = mean,
          .deviation = std::sqrt(std::max(0.0, squares / weights - mean * mean)),
          .filtered = bend.enabled ? double{unbent(bend, bent_mean)} : mean,
          .weight = 1};
}

std::vector<SceneTone> scene_tones(const SensorNoise& noise, const ToneBend& bend) {
  constexpr double kStep = 0.1, kMost = 20;
  std::vector<SceneTone> scene;
  for (double z = 0; z <= kMost; z += kStep) {
    const SceneTone tone = scene_tone(z, noise.deviation(z), bend);
    if (tone.mean > kDarkTones) break;
    scene.push_back(tone);
  }
  return scene;
}

double likelihood(double distance, double deviation) {
  const double z = distance / deviation;
  return std::exp(-0.5 * z * z) / deviation;
}

// The mixture that explains the blocks' means best (expectation maximisation). Means below the
// darkest tone's are that tone's.
void weigh(const DarkTones& dark, std::vector<SceneTone>& scene) {
  constexpr int32_t kRounds = 40;
  const size_t count = scene.size();
  std::vector<double> likely(dark.size() * count);
  for (size_t t = 0; t < dark.size(); ++t) {
    const double at = std::max(static_cast<double>(t), scene[0].mean);
    for (size_t k = 0; k < count; ++k) {
      likely[t * count + k] = likelihood(at - scene[k].mean, scene[k].deviation / kDarkSide);
    }
  }
  for (int32_t round = 0; round < kRounds; ++round) {
    std::vector<double> next(count, 0.0);
    for (size_t t = 0; t < dark.size() && static_cast<double>(t) <= scene.back().mean; ++t) {
      double all = 0;
      for (size_t k = 0; k < count; ++k) all += scene[k].weight * likely[t * count + k];
      if (all <= 0) continue;
      const double share = static_cast<double>(dark[t].blocks) / all;
      for (size_t k = 0; k < count; ++k) {
        next[k] += share * scene[k].weight * likely[t * count + k];
      }
    }
    for (size_t k = 0; k < count; ++k) scene[k].weight = next[k];
  }
}

// The mean of the scene's tones of which a filter may have made `value`, with so much of the noise
// left. The square root of how frequent a tone is keeps rare tones beside much black apart from it.
// (Six photographs with noise of ISO 1600 to 6400, BM3D fast: kLeft from 0.15 to 0.35.)
double expected(double value, const std::vector<SceneTone>& scene) {
  constexpr double kLeft = 0.3;
  double sum = 0, weights = 0;
  for (const SceneTone& tone : scene) {
    const double weight =
        std::sqrt(tone.weight) * likelihood(value - tone.filtered, kLeft * tone.deviation);
    sum += weight * tone.clean;
    weights += weight;
  }
  return weights > 0 ? sum / weights : value;
}

// The tone of which a filter without any error makes `value`.
double led_back(double value, const std::vector<SceneTone>& scene) {
  if (value <= scene[0].filtered) return scene[0].clean;
  size_t k = 1;
  while (k + 1 < scene.size() && scene[k].filtered < value) ++k;
  const SceneTone &low = scene[k - 1], &high = scene[k];
  const double part = (value - low.filtered) / (high.filtered - low.filtered);
  return low.clean + part * (high.clean - low.clean);
}

// From that tone on a filter finds what was there.
double end_of(const std::vector<SceneTone>& scene) {
  constexpr double kNothing = 0.3;  // steps
  size_t last = scene.size() - 1;
  while (last > 0 && std::abs(scene[last].filtered - scene[last].clean) < kNothing) --last;
  return scene[last].filtered;
}

BlackLift lift_of(const std::vector<SceneTone>& scene) {
  constexpr int32_t kFade = kLiftSegments / 4;
  BlackLift lift;
  lift.step = static_cast<float>(end_of(scene) / kLiftSegments);
  for (int32_t i = 1; i <= kLiftSegments; ++i) {
    const double tone = i * double{lift.step};
    // What is darker than any of the scene's tones is an error of the filter or too small to count:
    // it is not raised to them.
    const double most = std::max(tone, led_back(tone, scene));
    const double fade = std::min(1.0, 1.0 * (kLiftSegments - i) / kFade);
    const double back = tone + fade * (std::min(expected(tone, scene), most) - tone);
    lift.to[i] = std::max(lift.to[i - 1], static_cast<float>(back));
  }
  return lift;
}

}  // namespace

BlackLift measure_lift(std::span<const Sample> samples, const ToneBend& bend) {
  constexpr double kMostError = 0.045, kLeastLift = 1;
  const DarkTones dark = measure_dark_tones(samples);
  const std::vector<Witness> witnesses = witnesses_of(dark);
  if (!are_enough(witnesses)) return {};
  const Fit fit = fitted(witnesses);
  if (fit.error > kMostError) return {};
  std::vector<SceneTone> scene = scene_tones(fit.noise, bend);
  if (scene.size() < 2 || scene[0].mean < kLeastLift) return {};
  weigh(dark, scene);
  return lift_of(scene);
}

}  // namespace grainless
