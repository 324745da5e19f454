// SPDX-License-Identifier: MIT
#include "lone_layers.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/cpu/volume/fusion.h"
#include "engine/noise/sample.h"
#include "engine/params/params.h"
#include "engine/plan/stack_plan.h"
#include "registration.h"

namespace grainless {
namespace {

constexpr int32_t kTiles = 6, kDepth = 8;
// A pixel is alike in others that is worth so many layers; of a lone layer's few are.
constexpr float kAlike = 1.3f;
constexpr double kMostAlike = 0.08;

// What averages with as many layers as tell enough.
FusionPlan widest_fusion(int32_t channels, const NoiseModel& noise) {
  NoiseModel together = noise;
  std::fill_n(together.stack.apart, kStackMethods, false);
  FusionPlan fusion = make_stack_plan({}, kDepth, channels, together).fusion;
  fusion.places = {};  // what is looked at is brought together
  return fusion;
}

// How many pixels of the tile of layer z are alike in others.
int64_t count_alike(std::span<const ConstImage> layers, int32_t z, const SampleTile& tile,
                    const FusionPlan& fusion, const LayerPlaces& places, ThreadPool& pool,
                    const Callbacks& callbacks) {
  const auto count = static_cast<int32_t>(layers.size());
  std::vector<ConstImage> parts;
  for (int32_t l = 0; l < count; ++l) {
    parts.push_back(part_of(layers[l], placed_tile(places, z, l, tile, layers[l])));
  }
  const Rect all = parts.front().rect;
  const Fused fused = fuse_layers(fusion, {count, 0, parts}, z, all, pool, callbacks);
  int64_t alike = 0;
  for (int32_t y = 0; y < all.height; ++y) {
    const float* worth = fused.count.at(0, 0, y);
    alike += std::count_if(worth, worth + all.width, [](float one) { return one > kAlike; });
  }
  return alike;
}

}  // namespace

void find_lone_layers(std::span<const ConstImage> layers, ThreadPool& pool,
                      const Callbacks& callbacks, const MeasureLayer& measure, NoiseModel& noise) {
  // What stands still shows the same.
  const StackNoise& stack = noise.stack;
  const bool same = stack.still || stack.between.known;
  if (layers.size() < 2 || (same && stack.calm == 0)) return;
  const ConstImage& one = layers.front();
  const FusionPlan fusion = widest_fusion(one.format.colours(), noise);
  const std::vector<SampleTile> tiles = sample_tiles(one.width, one.height, kTiles);
  const Callbacks quiet{callbacks.cancel, {}};
  int64_t pixels = 0;
  for (const SampleTile& tile : tiles) pixels += int64_t{tile.width} * tile.height;
  const auto most = static_cast<int64_t>(kMostAlike * static_cast<double>(pixels));
  LoneLayers lone;
  lone.noise.resize(layers.size());
  bool any = false;
  const auto shows_others = [&](size_t z) {
    int64_t alike = 0;
    for (size_t i = 0; i < tiles.size() && alike <= most; ++i) {
      alike +=
          count_alike(layers, static_cast<int32_t>(z), tiles[i], fusion, stack.places, pool, quiet);
    }
    return alike > most;
  };
  for (size_t z = 0; z < layers.size(); ++z) {
    callbacks.report(static_cast<double>(z) / static_cast<double>(layers.size()));
    const bool calm = (stack.calm >> z & 1) != 0;
    if (!calm && (same || shows_others(z))) continue;
    lone.noise[z] = measure(layers[z]);
    any = true;
  }
  if (any) noise.lone = std::make_shared<const LoneLayers>(std::move(lone));
}

}  // namespace grainless
