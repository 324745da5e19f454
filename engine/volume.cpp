// SPDX-License-Identifier: MIT
#include "volume.h"

#include <algorithm>

#include "noise_estimate.h"

namespace grainless {
namespace {

constexpr int32_t kMeasuredLayers = 9;

// Slabs with fewer voxels leave a large card partly idle.
constexpr int64_t kSharedVoxels = int64_t{1} << 22;

// Runs a device gets one after the other, so that the last ones end at the same time and transfers
// go beside kernels.
constexpr int32_t kTurns = 2;

}  // namespace

VolumeWork::VolumeWork(const Plan& plan, const VolumePlan& volume,
                       std::span<const ConstImage> layers, std::span<const MutableImage> targets,
                       const Callbacks& callbacks)
    : plan_(plan),
      volume_(volume),
      callbacks_(callbacks),
      width_(layers.front().width),
      height_(layers.front().height),
      layers_(static_cast<int32_t>(layers.size())) {
  for (const ConstImage& layer : layers) {
    sources_.push_back({const_cast<void*>(layer.data), layer.row_bytes});
  }
  for (const MutableImage& target : targets) targets_.push_back({target.data, target.row_bytes});
}

Rect VolumeWork::grown(const Rect& tile) const {
  const int32_t reach = volume_.reach();
  return intersect({0, tile.y - reach, 1, tile.height + 2 * reach}, area());
}

// A backend that takes one run at a time cuts its slab itself.
TileSize VolumeWork::choose_tile(const Backend& backend, int32_t devices) const {
  const int32_t streams = std::max(1, backend.concurrency());
  const int64_t voxels = int64_t{width_} * height_;
  const auto least = static_cast<int32_t>(std::min<int64_t>(kSharedVoxels / voxels + 1, layers_));
  const int32_t parts = devices * (streams > 1 ? streams * kTurns : 1);
  int32_t slab = std::max(least, (layers_ + parts - 1) / parts);
  const uint64_t budget = backend.budget() / streams;
  const auto fits = [&](int32_t count) {
    const int32_t held = std::min(count + 2 * volume_.reach(), layers_);
    return backend.slab_bytes(plan_, volume_, width_, height_, held, count) <= budget;
  };
  while (slab > 1 && !fits(slab)) slab = (slab + 1) / 2;
  return {1, slab};
}

void VolumeWork::run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
                     AbiTiming* timing) const {
  const Rect in = grown(tile);
  backend.run_slab(plan_, volume_,
                   {width_, height_, layers_, in.y, in.height, tile.y, tile.height,
                    sources_.data() + in.y, targets_.data() + tile.y},
                   callbacks, timing);
}

NoiseModel estimate_volume_noise(std::span<const ConstImage> layers, ThreadPool& pool,
                                 const Callbacks& callbacks) {
  const auto count = static_cast<int32_t>(layers.size());
  const int32_t measured = std::min(count, kMeasuredLayers);
  NoiseModel mean = white_noise(layers.front().format.colours(), 0);
  for (int32_t i = 0; i < measured; ++i) {
    const int32_t z = static_cast<int32_t>((int64_t{2} * i + 1) * count / (2 * measured));
    const NoiseModel noise = estimate_noise(layers[z], pool, callbacks);
    for (int32_t c = 0; c < mean.channels; ++c) mean.sigma[0][c] += noise.sigma[0][c] / measured;
  }
  return mean;
}

}  // namespace grainless
