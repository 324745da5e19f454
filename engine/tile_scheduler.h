// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend.h"
#include "denoise.h"

namespace grainless {

struct TileSize {
  int32_t width, height;
};

// Work that can be cut into tiles of any size, each done by any backend with the same result.
class TileWork {
 public:
  virtual ~TileWork() = default;

  virtual Rect area() const = 0;
  virtual const Callbacks& callbacks() const = 0;
  // Tiles whose longer side is under twice this are not cut any further.
  virtual int32_t smallest_side() const = 0;
  // Into what tiles the area is cut for backends like this one, `devices` of which share it: as few
  // as the budget allows.
  virtual TileSize choose_tile(const Backend& backend, int32_t devices) const = 0;
  virtual void run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
                   AbiTiming* timing) const = 0;
};

// Fills target from source, which holds all that the plan needs of the image.
class ImageWork final : public TileWork {
 public:
  ImageWork(const Plan& plan, const ConstImage& source, const MutableImage& target,
            const Callbacks& callbacks)
      : plan_(plan), source_(source), target_(target), callbacks_(callbacks) {}

  Rect area() const override { return target_.rect; }
  const Callbacks& callbacks() const override { return callbacks_; }
  int32_t smallest_side() const override;
  TileSize choose_tile(const Backend& backend, int32_t devices) const override;
  void run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
           AbiTiming* timing) const override;

 private:
  const Plan& plan_;
  const ConstImage& source_;
  const MutableImage& target_;
  const Callbacks& callbacks_;
};

// Does the work on the accelerators together, one queue of tiles for all. A card that runs out of
// memory gets smaller tiles; a card that fails is left out and its tile goes back to the queue;
// what no card could do, the CPU does. Throws Error: kCancelled, or what the CPU failed with. Fills
// device, fallbacks, tiles, timings and peak_memory of the report.
void run_tiles(const TileWork& work, const std::vector<std::shared_ptr<Backend>>& accelerators,
               const std::shared_ptr<Backend>& cpu, Report& report,
               std::vector<std::string>& failed_devices);

}  // namespace grainless
