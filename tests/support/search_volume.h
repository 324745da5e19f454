// SPDX-License-Identifier: MIT
// Engine::denoise_volume() for tests of Non-Local Means' search in three dimensions, which layers
// that stand still would spare: nothing is known of them but a sigma.
#pragma once

#include <span>

#include "engine/denoise.h"
#include "engine/noise/picture_range.h"

namespace grainless::test {

inline NoiseModel noise_of_unlike_layers(const Params& params, std::span<const ConstImage> layers) {
  NoiseModel noise = white_noise(layers.front().format.colours(), static_cast<float>(params.sigma));
  noise.range = picture_range(layers);
  return noise;
}

inline Status search_volume(Engine& engine, const Params& params, int32_t depth,
                            std::span<const ConstImage> layers,
                            std::span<const MutableImage> targets, const Callbacks& callbacks,
                            Report& report) {
  const auto count = static_cast<int32_t>(layers.size());
  return engine.denoise_volume_part(params, depth, noise_of_unlike_layers(params, layers),
                                    {{count, 0, layers}, {count, 0, targets}}, callbacks, report);
}

}  // namespace grainless::test
