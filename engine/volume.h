// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "denoise.h"
#include "engine/backends/tile_scheduler.h"
#include "engine/boundary/volume_plan.h"

namespace grainless {

// What a box of a volume of this shape depends on, as far as there is any.
VolumeBox volume_source_box(const VolumePlan& volume, const VolumeBox& box,
                            const LayersShape& shape);

// A volume as work for the scheduler, which knows of a slab as a tile one pixel wide and as high as
// the slab has layers. Backends take whole layers: a part of a volume is one of its own to them,
// cut out with what the part depends on. Only the ends and borders that are the volume's reflect
// what anybody sees.
class VolumeWork final : public TileWork {
 public:
  VolumeWork(const Plan& plan, const VolumePlan& volume, const VolumePixels& pixels,
             const Callbacks& callbacks);

  Rect area() const override { return {0, first_, 1, static_cast<int32_t>(targets_.size())}; }
  const Callbacks& callbacks() const override { return callbacks_; }
  int32_t smallest_side() const override { return 1; }
  Cut choose_cut(const Backend& backend, int32_t devices) const override;
  void run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
           AbiTiming* timing) const override;

 private:
  // The most layers of a slab so that `streams` of them fit at once; 0: not even of one.
  int32_t largest_slab(const Backend& backend, int32_t devices, int32_t streams) const;
  // Layers first .. end - 1 grown by what they depend on.
  Rect grown(const Rect& tile) const;

  const Plan& plan_;
  const VolumePlan& volume_;
  const Callbacks& callbacks_;
  const int32_t count_, first_, source_first_;
  Rect cut_;  // of the layers, what the backends see
  std::vector<AbiLayer> sources_;
  std::vector<MutableImage> targets_;
};

}  // namespace grainless
