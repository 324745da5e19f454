// SPDX-License-Identifier: MIT
#include "model.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/pyramid.h"
#include "engine/sentence.h"

namespace grainless {

const char* confidence_id(Confidence confidence) {
  switch (confidence) {
    case Confidence::kMeasured:
      return "measured";
    case Confidence::kLittle:
      return "little";
    case Confidence::kUnsure:
      return "unsure";
    case Confidence::kTooSmall:
      return "too-small";
  }
  return "";
}

const char* impulses_id(Impulses impulses) {
  switch (impulses) {
    case Impulses::kNone:
      return "none";
    case Impulses::kFew:
      return "few";
    case Impulses::kMany:
      return "many";
  }
  return "";
}

std::string confidence_text(Confidence confidence) {
  switch (confidence) {
    case Confidence::kMeasured:
      return sentence("measured");
    case Confidence::kLittle:
      return sentence("little or no noise");
    case Confidence::kUnsure:
      return sentence("unsure: texture or noise?");
    case Confidence::kTooSmall:
      return sentence("too small to measure");
  }
  return {};
}

bool surely_white(const NoiseModel& noise) {
  return noise.confidence == Confidence::kMeasured &&
         std::all_of(noise.white, noise.white + noise.channels, [](bool white) { return white; });
}

float in_corners(const NoiseModel& noise) {
  return noise.corners.enabled != 0 ? gain_of(noise.corners, 1) : 1.0f;
}

float sigma_at(const NoiseModel& noise, int32_t channel, float brightness) {
  const float sigma = noise.sigma[0][channel];
  if (noise.bend.enabled == 0) return sigma;
  constexpr float kStep = 255.0f / kBendSegments;
  const float at = std::clamp(brightness / kStep, 0.0f, static_cast<float>(kBendSegments));
  const auto middle = static_cast<int32_t>(std::lround(at));
  const int32_t first = std::max(middle - 1, 0), last = std::min(middle + 1, kBendSegments);
  const float slope =
      (noise.bend.to[last] - noise.bend.to[first]) / (kStep * static_cast<float>(last - first));
  return sigma / slope;
}

namespace {

using Sigma = float[kMaxLevels][kMaxChannels];

// `sigma` is that of `known` levels.
void reduce(const Sigma& sigma, int32_t known, int32_t reduction, Sigma& reduced) {
  for (int32_t level = 0; level < kMaxLevels; ++level) {
    const int32_t from = std::min(level + reduction, known - 1);
    for (int32_t c = 0; c < kMaxChannels; ++c) {
      reduced[level][c] = std::ldexp(sigma[from][c], from - level - reduction);
    }
  }
}

LayerPlaces places_at_level(LayerPlaces places, int32_t reduction) {
  places.width = level_size(places.width, reduction);
  places.height = level_size(places.height, reduction);
  for (Similarity& place : places.of) place.by /= static_cast<double>(1 << reduction);
  return places;
}

}  // namespace

NoiseModel noise_at_level(const NoiseModel& noise, int32_t reduction) {
  NoiseModel reduced = noise;
  reduced.reduction += reduction;
  reduced.levels = std::max(1, noise.levels - reduction);
  reduce(noise.sigma, noise.levels, reduction, reduced.sigma);
  reduce(noise.alone.sigma, noise.levels, reduction, reduced.alone.sigma);
  reduce(noise.between.sigma, kBetweenLevels, reduction, reduced.between.sigma);
  reduced.places = places_at_level(noise.places, reduction);
  change_lone(reduced, [=](NoiseModel& layer) { layer = noise_at_level(layer, reduction); });
  return reduced;
}

const NoiseModel* lone_noise(const NoiseModel& stack, int32_t layer, int32_t layers) {
  if (!stack.lone || static_cast<size_t>(layers) != stack.lone->noise.size()) return nullptr;
  const auto& noise = stack.lone->noise[static_cast<size_t>(layer)];
  return noise ? &*noise : nullptr;
}

void change_lone(NoiseModel& stack, const std::function<void(NoiseModel&)>& change) {
  if (!stack.lone) return;
  LoneLayers lone = *stack.lone;
  for (auto& layer : lone.noise) {
    if (layer) change(*layer);
  }
  stack.lone = std::make_shared<const LoneLayers>(std::move(lone));
}

double LayerPlaces::farthest(int32_t depth) const {
  double most = 0;
  for (int32_t z = 0; z < count; ++z) {
    for (int32_t other = std::max(0, z - depth); other < std::min(count, z + depth + 1); ++other) {
      const Similarity by = between(z, other, count, width, height);
      for (const double x : {-0.5, 0.5}) {
        for (const double y : {-0.5, 0.5}) {
          most = std::max(most, std::abs(by.at({x * width, y * height})));
        }
      }
    }
  }
  return most;
}

float LayerStrengths::most() const {
  return count == 0 ? 1.0f : *std::max_element(of, of + count);
}

LayerStrengths LayerStrengths::part(int32_t first, int32_t layers) const {
  LayerStrengths some;
  if (count == 0) return some;
  some.count = layers;
  std::copy_n(of + first, layers, some.of);
  return some;
}

namespace {

NoiseModel stronger(NoiseModel noise, float times) {
  for (auto& level : noise.sigma) {
    for (float& sigma : level) sigma *= times;
  }
  return noise;
}

// Of the layer that holds most.
NoiseModel noisiest(const NoiseModel& noise) {
  return stronger(noise, noise.strengths.most());
}

// Of a stack with lone layers.
NoiseModel strongest(const NoiseModel& noise) {
  const NoiseModel others = noisiest(noise);
  const NoiseModel* most = nullptr;
  for (const auto& layer : noise.lone->noise) {
    const NoiseModel& one = layer ? *layer : others;
    if (most == nullptr || one.sigma[0][0] > most->sigma[0][0]) most = &one;
  }
  return *most;
}

}  // namespace

NoiseModel noise_of_layer(const NoiseModel& stack, int32_t layer, int32_t layers) {
  if (const NoiseModel* lone = lone_noise(stack, layer, layers)) return *lone;
  NoiseModel noise = stronger(stack, stack.strengths.at(layer, layers));
  noise.lone = nullptr;
  noise.strengths = {};
  return noise;
}

NoiseModel told_noise(const NoiseModel& noise) {
  if (noise.lone) return strongest(noise);
  const auto* sigma = noise.sigma[0];
  const bool none = std::all_of(sigma, sigma + noise.channels, [](float s) { return s <= 0; });
  if (!noise.between.known || !none) return noisiest(noise);
  NoiseModel told = noise;
  std::copy(&noise.between.sigma[0][0], &noise.between.sigma[0][0] + kMaxLevels * kMaxChannels,
            &told.sigma[0][0]);
  told.confidence = Confidence::kMeasured;
  return told;
}

}  // namespace grainless
