// SPDX-License-Identifier: MIT
#include "volume.h"

#include <algorithm>
#include <map>
#include <memory>

#include "cpu/nlm_volume.h"
#include "cpu/pixel_planes.h"
#include "noise_estimate.h"
#include "pixel_math.h"
#include "status.h"

namespace grainless {
namespace {

// A slab of 16 layers computes (16 + depth) / 16 of the pairs, and a block of it stays in a few
// megabytes of cache.
constexpr int32_t kSlab = 16;

constexpr int32_t kMeasuredLayers = 9;

// The volume's planes, made when they are first needed and dropped when the slab has passed.
class Layers {
 public:
  Layers(const VolumeRequest& request, const Plan& plan, ThreadPool& pool)
      : request_(request), plan_(plan), pool_(pool), planes_(request.layers.size()) {}

  const Planes* hold(int32_t z) {
    if (!planes_[z]) {
      const AbiTile tile = tile_of(z);
      planes_[z] = std::make_unique<Planes>(planes_from_pixels(plan_, tile, tile.in, pool_));
    }
    return planes_[z].get();
  }
  void drop_before(int32_t end) {
    for (int32_t z = 0; z < end; ++z) planes_[z].reset();
  }
  std::vector<const Planes*> pointers() const {
    std::vector<const Planes*> pointers;
    for (const auto& planes : planes_) pointers.push_back(planes.get());
    return pointers;
  }
  AbiTile tile_of(int32_t z) const {
    const ConstImage& source = request_.layers[z];
    const MutableImage& target = request_.targets[z];
    const Rect whole{0, 0, source.width, source.height};
    return {source.width, source.height,    whole,       whole,
            source.data,  source.row_bytes, target.data, target.row_bytes};
  }

 private:
  const VolumeRequest& request_;
  const Plan& plan_;
  ThreadPool& pool_;
  std::vector<std::unique_ptr<Planes>> planes_;
};

void run_slab(const VolumePlan& volume, const Plan& plan, Layers& layers, int32_t count,
              int32_t first, int32_t end, ThreadPool& pool, const Callbacks& callbacks) {
  layers.drop_before(std::max(0, first - volume.reach()));
  for (int32_t z = first - volume.reach(); z < end + volume.reach(); ++z) {
    layers.hold(reflect(z, count));
  }
  std::vector<Planes> results;
  std::vector<Planes*> targets;
  for (int32_t z = first; z < end; ++z) {
    results.emplace_back(plan.channels, layers.hold(z)->rect());
  }
  for (Planes& result : results) targets.push_back(&result);
  run_nlm_volume({&volume, layers.pointers(), first, targets, &pool, &callbacks});
  for (int32_t z = first; z < end; ++z) {
    pixels_from_planes(plan, layers.tile_of(z), *layers.hold(z), results[z - first], pool);
  }
}

}  // namespace

uint64_t denoise_volume(const VolumeRequest& request, ThreadPool& pool,
                        const Callbacks& callbacks) {
  const ConstImage& first_layer = request.layers.front();
  Params params = *request.params;
  params.scales = 1;
  const Plan plan = make_plan(params, first_layer.format, *request.noise);
  const VolumePlan volume = make_volume_plan(params, request.depth, plan.channels, *request.noise);
  const auto count = static_cast<int32_t>(request.layers.size());
  Layers layers(request, plan, pool);
  for (int32_t first = 0; first < count; first += kSlab) {
    const int32_t end = std::min(first + kSlab, count);
    const Callbacks part{callbacks.cancel, [&](double fraction) {
                           callbacks.report((first + fraction * (end - first)) / count);
                         }};
    run_slab(volume, plan, layers, count, first, end, pool, part);
  }
  const int32_t slab = std::min(kSlab, count), held = std::min(slab + 2 * volume.reach(), count);
  return nlm_volume_bytes(volume, plan.channels, first_layer.width, first_layer.height, slab,
                          pool.size()) +
         (held + slab) * Planes::bytes(plan.channels, first_layer.width, first_layer.height);
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
