// SPDX-License-Identifier: MIT
#include "model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/boundary/pyramid.h"

namespace grainless {
namespace {

LayerPlaces places_at_level(LayerPlaces places, int32_t reduction) {
  places.width = level_size(places.width, reduction);
  places.height = level_size(places.height, reduction);
  for (Similarity& place : places.of) place.by /= static_cast<double>(1 << reduction);
  return places;
}

}  // namespace

NoiseModel noise_at_level(const NoiseModel& noise, int32_t reduction) {
  const PictureNoise& picture = noise;
  NoiseModel reduced{noise_at_level(picture, reduction), noise.stack, noise.lone};
  const StackNoise& from = noise.stack;
  reduce_sigma(from.alone.sigma, noise.levels, reduction, reduced.stack.alone.sigma);
  reduce_sigma(from.between.sigma, kBetweenLevels, reduction, reduced.stack.between.sigma);
  reduced.stack.places = places_at_level(from.places, reduction);
  change_lone(reduced, [=](PictureNoise& layer) { layer = noise_at_level(layer, reduction); });
  return reduced;
}

const PictureNoise* lone_noise(const NoiseModel& stack, int32_t layer, int32_t layers) {
  if (!stack.lone || static_cast<size_t>(layers) != stack.lone->noise.size()) return nullptr;
  const auto& noise = stack.lone->noise[static_cast<size_t>(layer)];
  return noise ? &*noise : nullptr;
}

void change_lone(NoiseModel& stack, const std::function<void(PictureNoise&)>& change) {
  if (!stack.lone) return;
  LoneLayers lone = *stack.lone;
  for (auto& layer : lone.noise) {
    if (layer) change(*layer);
  }
  stack.lone = std::make_shared<const LoneLayers>(std::move(lone));
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
  return stronger(noise, noise.stack.strengths.most());
}

// Of a stack with lone layers.
NoiseModel strongest(const NoiseModel& noise) {
  const NoiseModel others = noisiest(noise);
  const PictureNoise* most = nullptr;
  for (const auto& layer : noise.lone->noise) {
    const PictureNoise& one = layer ? *layer : others;
    if (most == nullptr || one.sigma[0][0] > most->sigma[0][0]) most = &one;
  }
  return most == &others ? others : NoiseModel{*most};
}

}  // namespace

NoiseModel noise_of_layer(const NoiseModel& stack, int32_t layer, int32_t layers) {
  if (const PictureNoise* lone = lone_noise(stack, layer, layers)) return {*lone};
  NoiseModel noise = stronger(stack, stack.stack.strengths.at(layer, layers));
  noise.lone = nullptr;
  noise.stack.strengths = {};
  return noise;
}

NoiseModel told_noise(const NoiseModel& noise) {
  if (noise.lone) return strongest(noise);
  const auto* sigma = noise.sigma[0];
  const bool none = std::all_of(sigma, sigma + noise.channels, [](float s) { return s <= 0; });
  const LayerDifference& between = noise.stack.between;
  if (!between.known || !none) return noisiest(noise);
  NoiseModel told = noise;
  std::copy(&between.sigma[0][0], &between.sigma[0][0] + kMaxLevels * kMaxChannels,
            &told.sigma[0][0]);
  told.confidence = Confidence::kMeasured;
  return told;
}

}  // namespace grainless
