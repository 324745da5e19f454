// SPDX-License-Identifier: MIT
// What is known of the noise of a picture or of a stack of layers: what a measurement finds, and
// what a plan is made from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "picture_noise.h"
#include "stack_noise.h"

namespace grainless {

struct LoneLayers;

struct NoiseModel : PictureNoise {
  StackNoise stack = {};
  std::shared_ptr<const LoneLayers> lone = nullptr;  // unless a stack has any (lone_layers.h)
};

// The layers of a stack that show next to nothing of what others show, and the noise of each.
struct LoneLayers {
  std::vector<std::optional<PictureNoise>> noise;  // of each layer; empty: it isn't lone
};

// The noise of a layer that is denoised as a picture of its own. Null where the layer isn't, or
// where `layers`, the number of layers, is not that of the measured stack.
const PictureNoise* lone_noise(const NoiseModel& stack, int32_t layer, int32_t layers);

// The noise of one layer of a stack of `layers`: a lone layer's own, or the stack's with the
// strength that it has there.
NoiseModel noise_of_layer(const NoiseModel& stack, int32_t layer, int32_t layers);

// Applies `change` to the noise of each lone layer.
void change_lone(NoiseModel& stack, const std::function<void(PictureNoise&)>& change);

// As of a picture; layers lie as far from each other as they do at that resolution.
NoiseModel noise_at_level(const NoiseModel& noise, int32_t reduction);

// The noise to report for a stack: where layers that show none alone are averaged all the same,
// what they differ by; where lone layers hold more noise, theirs.
NoiseModel told_noise(const NoiseModel& noise);

inline NoiseModel white_noise(int32_t channels, float sigma) {
  NoiseModel noise;
  noise.channels = channels;
  noise.levels = 1;
  for (int32_t c = 0; c < channels; ++c) noise.sigma[0][c] = sigma;
  return noise;
}

}  // namespace grainless
