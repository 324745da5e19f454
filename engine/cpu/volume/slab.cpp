// SPDX-License-Identifier: MIT
#include "slab.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/cpu/frame/pixel_planes.h"
#include "nlm_volume.h"

namespace grainless {
namespace {

// 16 layers at a time compute (16 + depth) / 16 of the pairs, and a block of them stays in a few
// megabytes of cache.
constexpr int32_t kAtOnce = 16;

// Holds the volume's planes, made when they are first needed and dropped when the work has passed.
class SlabRun {
 public:
  SlabRun(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab, ThreadPool& pool)
      : plan_(plan), volume_(volume), slab_(slab), pool_(pool), planes_(slab.layers) {}

  void run(int32_t first, int32_t end, const Callbacks& callbacks);

 private:
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
  // Without a target where z is not one of the slab's.
  AbiTile tile_of(int32_t z) const {
    const AbiLayer& source = slab_.source[z - slab_.in_first];
    const int32_t out = z - slab_.out_first;
    const AbiLayer target = out >= 0 && out < slab_.out_layers ? slab_.target[out] : AbiLayer{};
    const Rect whole{0, 0, slab_.width, slab_.height};
    return {slab_.width, slab_.height,     whole,       whole,
            source.data, source.row_bytes, target.data, target.row_bytes};
  }

  const Plan& plan_;
  const VolumePlan& volume_;
  const AbiSlab& slab_;
  ThreadPool& pool_;
  std::vector<std::unique_ptr<Planes>> planes_;
};

// The volume's layers first .. end - 1.
void SlabRun::run(int32_t first, int32_t end, const Callbacks& callbacks) {
  drop_before(std::max(0, first - volume_.reach()));
  for (int32_t z = first - volume_.reach(); z < end + volume_.reach(); ++z) {
    hold(reflect(z, slab_.layers));
  }
  std::vector<Planes> results;
  std::vector<Planes*> targets;
  for (int32_t z = first; z < end; ++z) results.emplace_back(plan_.channels, hold(z)->rect());
  for (Planes& result : results) targets.push_back(&result);
  run_nlm_volume({&volume_, pointers(), first, targets, &pool_, &callbacks});
  for (int32_t z = first; z < end; ++z) {
    pixels_from_planes(plan_, tile_of(z), *hold(z), results[z - first], pool_);
  }
}

}  // namespace

void run_volume_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                     ThreadPool& pool, const Callbacks& callbacks) {
  SlabRun slab_run(plan, volume, slab, pool);
  for (int32_t done = 0; done < slab.out_layers; done += kAtOnce) {
    const int32_t count = std::min(kAtOnce, slab.out_layers - done);
    const Callbacks part{callbacks.cancel, [&](double fraction) {
                           callbacks.report((done + fraction * count) / slab.out_layers);
                         }};
    const int32_t first = slab.out_first + done;
    slab_run.run(first, first + count, part);
  }
}

uint64_t volume_slab_bytes(const Plan& plan, const VolumePlan& volume, const SlabSize& size,
                           int32_t threads) {
  const auto& [width, height, in_layers, out_layers] = size;
  const int32_t count = std::min(kAtOnce, out_layers);
  const int32_t held = std::min(count + 2 * volume.reach(), in_layers);
  return nlm_volume_bytes(volume, plan.channels, width, height, count, threads) +
         (held + count) * Planes::bytes(plan.channels, width, height);
}

}  // namespace grainless
