// SPDX-License-Identifier: MIT
#include "stack_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/methods.h"
#include "engine/noise/given_noise.h"
#include "engine/noise/layer_tones.h"
#include "make_plan.h"

namespace grainless {
namespace {

PixelFormat averaged_format(const StackPlan& stack) {
  return {Component::kFloat, stack.fusion.channels};
}

// What the filter for volumes doesn't take stays out of the one that stands in for it.
Params picture_params(const Params& params) {
  Params picture = params;
  if (method_row(params.method).stack == StackWay::kFusion) return picture;
  const Params defaults;
  picture.quality = defaults.quality;
  picture.scales = 1;
  picture.shadows = picture.highlights = 100;
  return picture;
}

// Of the sigma that is given: what averaging may change a layer by, that all of it stays explained
// by sigma (promise 8 of the design). From two thirds of the layers' noise on all is averaged.
constexpr double kMostExplained = 1.5;

// What layers of one noise would hold to differ as much: a sigma that is given is all layers'.
float usual_strength(const LayerStrengths& strengths) {
  if (strengths.count == 0) return 1;
  const float* end = strengths.of + strengths.count;
  const float squares = std::inner_product(strengths.of, end, strengths.of, 0.0f);
  return std::sqrt(squares / static_cast<float>(strengths.count));
}

double between(double from, double to, double part) {
  return from + (to - from) * std::clamp(part, 0.0, 1.0);
}

}  // namespace

bool fuses_stack(const Params& params, const NoiseModel& noise) {
  const StackNoise& stack = noise.stack;
  if (method_row(params.method).stack == StackWay::kFusion || stack.between.known) return true;
  if (noise.corners.enabled != 0 || noise.lone || stack.strengths.count > 0) return true;
  if (stack.nlm_way != NlmWay::kUntold) return stack.nlm_way == NlmWay::kAverage;
  const bool measured = params.auto_sigma || stack.between.instead;
  const bool surely_measured = measured && noise.confidence == Confidence::kMeasured;
  return noise.channels > 1 && surely_measured;
}

NoiseModel asked_noise(const Params& params, const NoiseModel& measured) {
  if (params.auto_sigma) return measured;
  NoiseModel noise = white_noise(measured.channels, static_cast<float>(params.sigma));
  noise.range = measured.range;
  const bool shown = measured.confidence == Confidence::kMeasured && measured.sigma[0][0] > 0;
  const StackNoise& found = measured.stack;
  if (params.sigma <= 0 || !(shown || found.still || found.between.known)) return noise;
  LayerDifference between = told_apart_by(measured);
  between.instead = true;
  for (auto& level : between.sigma) {
    for (float& sigma : level) sigma *= usual_strength(found.strengths);
  }
  for (int32_t c = 0; c < noise.channels; ++c) {
    const double differ = between.sigma[0][c];
    const double most = kMostExplained * params.sigma;
    between.share[c] = static_cast<float>(differ > most ? most / differ : 1.0);
  }
  noise.corners = measured.corners;
  StackNoise& asked = noise.stack;
  asked.between = between;
  asked.still = found.still;
  asked.nlm_way = found.nlm_way;
  std::copy_n(found.apart, kStackMethods, asked.apart);
  std::copy_n(found.unfollowed, kStackMethods, asked.unfollowed);
  std::copy_n(found.means, kStackMethods, asked.means);
  asked.places = found.places;
  asked.even_clip = given_clip(found.even_clip, colour_sigma(measured), params.sigma);
  return noise;
}

StackPlan make_stack_plan(const Params& params, int32_t depth, int32_t channels,
                          const NoiseModel& noise) {
  StackPlan stack{make_fusion_plan(params, depth, channels, noise), picture_params(params), noise,
                  0};
  stack.params.detail = 0;
  stack.params.impulse = static_cast<int32_t>(ImpulseWay::kOff);
  Plan picture = left_plan(stack, 1);
  set_bend(picture, {}, noise.range);
  stack.fusion.valid = picture.valid;
  std::copy_n(picture.hidden, kMaxChannels, stack.fusion.hidden);
  for (int32_t layers = 1; layers <= 2 * depth + 1; ++layers) {
    for (int32_t i = 0; i <= last_run(layers); ++i) {
      stack.halo = std::max(stack.halo, left_plan(stack, run_count(i, layers, layers)).halo);
    }
  }
  const LayerStrengths& strengths = noise.stack.strengths;
  for (int32_t z = 0; z < strengths.count; ++z) {
    const double worth = stack.fusion.worth(z, strengths.count);
    const int32_t layers = worth_layers(2 * depth + 1, worth);
    for (int32_t i = 0; i <= last_run(layers); ++i) {
      const Plan left = left_plan(stack, run_count(i, layers, worth), strengths.of[z]);
      stack.halo = std::max(stack.halo, left.halo);
    }
  }
  if (!noise.lone) return stack;
  for (const auto& layer : noise.lone->noise) {
    if (!layer) continue;
    stack.halo = std::max(stack.halo, lone_plan(stack, averaged_format(stack), *layer).halo);
  }
  return stack;
}

int32_t last_run(int32_t layers) {
  int32_t last = 0;
  while (1 << last < layers) ++last;
  return last;
}

int32_t worth_layers(int32_t layers, double worth) {
  return std::min(layers, static_cast<int32_t>(std::ceil(worth)));
}

double run_count(int32_t run, int32_t layers, double worth) {
  const int32_t last = last_run(layers);
  return run >= last ? 1.0 : std::pow(worth, 1.0 - static_cast<double>(run) / last);
}

PictureNoise left_noise(const StackPlan& stack, double count, double strength) {
  const NoiseModel even = evened_noise(stack.noise);
  const PictureNoise& picture = even;
  PictureNoise left = picture;
  left.corners = {};  // the mean is over them
  for (int32_t c = 0; c < left.channels; ++c) {
    const double sigma = strength * fused_sigma(stack.fusion.taken[c], count) *
                         (count > 1 ? even.stack.unevenness : 1);
    for (int32_t l = 0; l < left.levels; ++l) {
      left.sigma[l][c] = static_cast<float>(left.sigma[l][c] * sigma);
    }
  }
  return left;
}

Plan left_plan(const StackPlan& stack, double count, double strength) {
  return make_plan(stack.params, averaged_format(stack), left_noise(stack, count, strength));
}

Plan lone_plan(const StackPlan& stack, PixelFormat format, const PictureNoise& lone) {
  return make_plan(stack.params, format, lone);
}

float share_of_noise(const StackPlan& stack, double count, int32_t channel) {
  const MeanShares& means = stack.noise.stack.means[stack.params.method];
  if (means.layers < 2) return 1;
  const double octaves = std::log2(std::max(1.0, count)), all = std::log2(means.layers);
  const double of_two = between(means.of_one[channel], means.of_two[channel], octaves);
  if (octaves <= 1) return static_cast<float>(of_two);
  return static_cast<float>(between(of_two, means.of_all[channel], (octaves - 1) / (all - 1)));
}

}  // namespace grainless
