// SPDX-License-Identifier: MIT
#include "clip_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "dark_tones.h"
#include "engine/boundary/pixel_math.h"
#include "neutral.h"

namespace grainless {
namespace {

constexpr int32_t kSensorTones = 48;
constexpr double kWhite = 255;

// Where the noise was added: to linear light, or to the tones themselves.
enum class Values { kLinear, kTones };

// Values 0..1: the deviation at x is sqrt(read^2 + shot * x). What is below `cut` comes out as
// black.
struct CutNoise {
  Values values;
  double read, shot;
  double cut = 0;

  // Of the x that is z deviations from the cut.
  double deviation(double z) const {
    return 0.5 * (shot * z + std::sqrt(shot * shot * z * z + 4 * read * read));
  }
  // That x with n deviations of noise.
  double value(double z, double n) const { return cut + deviation(z) * (z + n); }
  // 0..255.
  double tone(double value) const {
    const double x = std::clamp(value, 0.0, 1.0);
    if (values == Values::kTones) return 255 * x;
    return 255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055);
  }
  // From here on tones show nothing of it.
  int32_t tones() const { return values == Values::kTones ? kDarkTones : kSensorTones; }
};

// Calls take(tone, weight) for what the noise makes of x = z deviations, in steps.
template <typename Take>
void for_noisy_tones(const CutNoise& noise, double z, const Take& take) {
  constexpr double kStep = 0.25, kMost = 4;
  for (double n = -kMost; n <= kMost; n += kStep) {
    take(noise.tone(noise.value(z, n)), std::exp(-0.5 * n * n));
  }
}

double noisy_mean(const CutNoise& noise, double z) {
  double sum = 0, weights = 0;
  for_noisy_tones(noise, z, [&](double value, double weight) {
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

// `most`: of a tone's values are black.
std::vector<Witness> witnesses_of(std::span<const DarkTone> tones, double most) {
  constexpr int64_t kFewest = 12, kEnough = 200;
  constexpr double kLeast = 0.05;
  std::vector<Witness> witnesses;
  for (const DarkTone& tone : tones) {
    if (tone.halves < kFewest || tone.zeros < kLeast || tone.zeros > most) continue;
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

// The root of the witnesses' weighted mean squared relative error, of the `share` of them that fits
// best.
double error_of(const CutNoise& noise, const std::vector<Witness>& witnesses, double share = 1) {
  std::vector<std::pair<double, double>> squares;  // with their weights
  double left = 0;
  for (const Witness& witness : witnesses) {
    const double error = (noisy_mean(noise, witness.z) - witness.mean) / witness.mean;
    squares.emplace_back(error * error, witness.weight);
    left += share * witness.weight;
  }
  if (share < 1) std::sort(squares.begin(), squares.end());
  double sum = 0, weights = 0;
  for (const auto& [square, weight] : squares) {
    const double counted = std::min(weight, left);
    sum += counted * square;
    weights += counted;
    left -= counted;
  }
  return std::sqrt(sum / weights);
}

struct Fit {
  CutNoise noise;
  double error;
};

// The best of the sensors around `centre`, 2 * steps + 1 of each kind, `factor` apart.
Fit best_near(const CutNoise& centre, int32_t steps, double factor,
              const std::vector<Witness>& witnesses) {
  Fit best{centre, HUGE_VAL};
  for (int32_t i = -steps; i <= steps; ++i) {
    for (int32_t j = -steps; j <= steps; ++j) {
      const CutNoise noise{centre.values, centre.read * std::pow(factor, i),
                           centre.shot * std::pow(factor, j)};
      const double error = error_of(noise, witnesses);
      if (error < best.error) best = {noise, error};
    }
  }
  return best;
}

Fit fitted(const std::vector<Witness>& witnesses) {
  constexpr CutNoise kUsual{Values::kLinear, 0.008, 0.004};
  constexpr double kCoarsest = 2, kFinest = 1.03;
  Fit best = best_near(kUsual, 4, kCoarsest, witnesses);
  for (double factor = std::sqrt(kCoarsest); factor > kFinest; factor = std::sqrt(factor)) {
    best = best_near(best.noise, 2, factor, witnesses);
  }
  return best;
}

// Deviations that even noise is fitted with, 0..1: powers of kFitFactor.
constexpr double kFitFactor = 1.02;

double fit_deviation(int32_t power) {
  return std::pow(kFitFactor, power);
}

int32_t nearest_fit(double deviation) {
  return static_cast<int32_t>(std::lround(std::log(deviation) / std::log(kFitFactor)));
}

// Integers of 8 bits are black below half a step. Tones beside a hard edge of what is black anyway
// show more zeros than their means tell: they are not counted, up to so many.
Fit fitted_even(int32_t first_power, int32_t last_power, const std::vector<Witness>& witnesses) {
  constexpr double kShare = 0.7;
  Fit best{{}, HUGE_VAL};
  for (const double cut : {0.0, 0.5 / kWhite}) {
    for (int32_t power = first_power; power <= last_power; ++power) {
      const CutNoise noise{Values::kTones, fit_deviation(power), 0, cut};
      const double error = error_of(noise, witnesses, kShare);
      if (error < best.error) best = {noise, error};
    }
  }
  return best;
}

// Noise of a known deviation, to a little.
Fit fitted_even(double deviation, const std::vector<Witness>& witnesses) {
  constexpr int32_t kSteps = 5;
  const int32_t power = nearest_fit(deviation);
  return fitted_even(power - kSteps, power + kSteps, witnesses);
}

// A tone of the scene: what it is, what its noisy pixels have on average and as deviation, what a
// filter makes of them, and how much of the picture it is.
struct SceneTone {
  double clean, mean, deviation, filtered, weight;
};

SceneTone scene_tone(const CutNoise& noise, double z, const ToneBend& bend) {
  double sum = 0, squares = 0, bent_sum = 0, weights = 0;
  for_noisy_tones(noise, z, [&](double value, double weight) {
    sum += weight * value;
    squares += weight * value * value;
    weights += weight;
    if (bend.enabled) bent_sum += weight * double{bent(bend, static_cast<float>(value))};
  });
  const double mean = sum / weights;
  // A filter takes means of bent colours.
  const auto bent_mean = static_cast<float>(bent_sum / weights);
  return {.clean = noise.tone(noise.value(z, 0)),
          .mean = mean,
          .deviation = std::sqrt(std::max(0.0, squares / weights - mean * mean)),
          .filtered = bend.enabled ? double{unbent(bend, bent_mean)} : mean,
          .weight = 1};
}

std::vector<SceneTone> scene_tones(const CutNoise& noise, const ToneBend& bend) {
  constexpr double kStep = 0.1, kMost = 20;
  std::vector<SceneTone> scene;
  for (double z = -noise.cut / noise.deviation(0); z <= kMost; z += kStep) {
    const SceneTone tone = scene_tone(noise, z, bend);
    if (tone.mean > noise.tones()) break;
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
void weigh(std::span<const DarkTone> dark, std::vector<SceneTone>& scene) {
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

// Goes on straight below the darkest tone, down to -`most`: few pieces of a curve tell where it
// bends only as far as it has no corner there.
double led_on(double value, const std::vector<SceneTone>& scene, double most) {
  const SceneTone &first = scene[0], &second = scene[1];
  if (value >= first.filtered) return led_back(value, scene);
  const double slope = (second.clean - first.clean) / (second.filtered - first.filtered);
  return std::max(-most, first.clean + (value - first.filtered) * slope);
}

// From that tone on a filter finds what was there.
double end_of(const std::vector<SceneTone>& scene) {
  constexpr double kNothing = 0.3;  // steps
  size_t last = scene.size() - 1;
  while (last > 0 && std::abs(scene[last].filtered - scene[last].clean) < kNothing) --last;
  return scene[last].filtered;
}

// What a filter's result was in a sensor's picture.
double likely_tone(double value, const std::vector<SceneTone>& scene) {
  // What is darker than any of the scene's tones is an error of the filter or too small to count:
  // it is not raised to them.
  return std::min(expected(value, scene), std::max(value, led_back(value, scene)));
}

// What a result is led back by, less and less towards the scene's end. tone_of(result, scene).
template <typename ToneOf>
double change_of(double value, const std::vector<SceneTone>& scene, const ToneOf& tone_of) {
  constexpr double kFade = 0.25;
  const double end = end_of(scene);
  if (value >= end) return 0;
  return std::min(1.0, (end - value) / (kFade * end)) * (tone_of(value, scene) - value);
}

template <typename ToneOf>
ClipCurve curve_of(const std::vector<SceneTone>& scene, const ToneOf& tone_of) {
  ClipCurve curve;
  curve.step = static_cast<float>(end_of(scene) / kClipSegments);
  for (int32_t i = 1; i <= kClipSegments; ++i) {
    const double value = i * double{curve.step};
    const double back = value + change_of(value, scene, tone_of);
    curve.to[i] = std::max(curve.to[i - 1], static_cast<float>(back));
  }
  return curve;
}

// Leads back at both ends, by pieces that reach from black to beyond white: what is led back
// further than to black or white is so by less than a piece, and integers clamp it.
ClipCurve curve_of(const std::vector<SceneTone>& black, const std::vector<SceneTone>& white) {
  constexpr double kStep = kWhite / (kClipSegments - 2);
  const auto change = [](double value, const std::vector<SceneTone>& scene) {
    if (scene.empty() || value <= -kStep) return 0.0;
    return change_of(value, scene, [](double of, const std::vector<SceneTone>& tones) {
      return led_on(of, tones, kStep);
    });
  };
  ClipCurve curve;
  curve.step = static_cast<float>(kStep);
  for (int32_t i = 0; i <= kClipSegments; ++i) {
    const double value = i * kStep;
    const double back = value + change(value, black) - change(kWhite - value, white);
    curve.to[i] = static_cast<float>(i > 0 ? std::max(double{curve.to[i - 1]}, back) : back);
  }
  return curve;
}

bool explains(const Fit& fit) {
  constexpr double kMostError = 0.045;
  return fit.error <= kMostError;
}

// Half of black itself is cut off, and of 8-bit integers what is rounded to it.
constexpr double kMostEvenZeros = 0.58;

// None where too few blocks show it, or the noise that `to_fit` finds does not explain them.
template <typename ToFit>
std::vector<SceneTone> shown_tones(std::span<const DarkTone> dark, double most_zeros,
                                   const ToneBend& bend, const ToFit& to_fit) {
  constexpr double kLeastLift = 1;
  const std::vector<Witness> witnesses = witnesses_of(dark, most_zeros);
  if (!are_enough(witnesses)) return {};
  const Fit fit = to_fit(witnesses);
  if (!explains(fit)) return {};
  std::vector<SceneTone> scene = scene_tones(fit.noise, bend);
  if (scene.size() < 2 || scene[0].mean < kLeastLift) return {};
  return scene;
}

}  // namespace

ClipCurve measure_sensor_clip(std::span<const Sample> samples, const ToneBend& bend,
                              ThreadPool& pool) {
  const DarkTones tones = measure_dark_tones(samples, End::kBlack, pool);
  const std::span<const DarkTone> dark = std::span(tones).first(kSensorTones);
  constexpr double kMostZeros = 0.5;
  std::vector<SceneTone> scene = shown_tones(dark, kMostZeros, bend, fitted);
  if (scene.empty()) return {};
  weigh(dark, scene);
  return curve_of(scene, likely_tone);
}

ClipCurve measure_even_clip(std::span<const Sample> samples, double sigma, ThreadPool& pool) {
  const auto scene_from = [&](End end) {
    const DarkTones dark = measure_dark_tones(samples, end, pool);
    return shown_tones(dark, kMostEvenZeros, {}, [&](const std::vector<Witness>& witnesses) {
      return fitted_even(sigma / kWhite, witnesses);
    });
  };
  const std::vector<SceneTone> black = scene_from(End::kBlack), white = scene_from(End::kWhite);
  if (!white.empty()) return curve_of(black, white);
  return black.empty() ? ClipCurve{} : curve_of(black, led_back);
}

bool may_show_even_clip(const Sample& sample, ThreadPool& pool) {
  if (find_toning(sample)) return may_show_even_clip(grey_sample(sample), pool);
  const int32_t least = nearest_fit(0.5 / kWhite), most = nearest_fit(1);
  const auto shows = [&](End end) {
    const DarkTones dark = measure_dark_tones({&sample, 1}, end, pool);
    const std::vector<Witness> witnesses = witnesses_of(dark, kMostEvenZeros);
    return are_enough(witnesses) && explains(fitted_even(least, most, witnesses));
  };
  return shows(End::kBlack) || shows(End::kWhite);
}

ClipCurve part_of(const ClipCurve& curve, double dark, double bright) {
  constexpr double kMiddle = 127.5;
  if (dark == 0 && bright == 0) return {};
  ClipCurve part = curve;
  for (int32_t i = 0; i <= kClipSegments; ++i) {
    const double tone = i * double{curve.step}, share = tone < kMiddle ? dark : bright;
    part.to[i] = static_cast<float>(tone + share * (curve.to[i] - tone));
  }
  return part;
}

}  // namespace grainless
