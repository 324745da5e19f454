// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "noise_model.h"
#include "thread_pool.h"
#include "tile_scheduler.h"
#include "volume_plan.h"

namespace grainless {

// A volume as work for the scheduler, which knows of a slab as a tile one pixel wide and as high as
// the slab has layers.
class VolumeWork final : public TileWork {
 public:
  // Whole images of one size and format, as many sources as targets.
  VolumeWork(const Plan& plan, const VolumePlan& volume, std::span<const ConstImage> layers,
             std::span<const MutableImage> targets, const Callbacks& callbacks);

  Rect area() const override { return {0, 0, 1, layers_}; }
  const Callbacks& callbacks() const override { return callbacks_; }
  int32_t smallest_side() const override { return 1; }
  TileSize choose_tile(const Backend& backend, int32_t devices) const override;
  void run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
           AbiTiming* timing) const override;

 private:
  // Layers first .. end - 1 grown by what they depend on.
  Rect grown(const Rect& tile) const;

  const Plan& plan_;
  const VolumePlan& volume_;
  const Callbacks& callbacks_;
  const int32_t width_, height_, layers_;
  std::vector<AbiLayer> sources_, targets_;
};

// The mean of what some layers, evenly spread, say of their noise; white, as a volume's noise has
// one level of resolution.
NoiseModel estimate_volume_noise(std::span<const ConstImage> layers, ThreadPool& pool,
                                 const Callbacks& callbacks);

}  // namespace grainless
