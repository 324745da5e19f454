// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend.h"
#include "engine/denoise.h"
#include "uncut_area.h"

namespace grainless {

// What tiles a backend takes, and how many at once.
struct Cut {
  TileSize tile;
  int32_t streams;
};

// Work that can be cut into tiles of any size, each done by any backend with the same result.
class TileWork {
 public:
  virtual ~TileWork() = default;

  virtual Rect area() const = 0;
  virtual const Callbacks& callbacks() const = 0;
  // Tiles whose longer side is under twice this are not cut any further.
  virtual int32_t smallest_side() const = 0;
  // Into what tiles the area is cut for a backend, when `devices` share it: as few as the budget
  // allows and leave one's transfers beside another's kernels. Throws Error(kOutOfMemory) when the
  // budget is too little for the smallest tile.
  virtual Cut choose_cut(const Backend& backend, int32_t devices) const = 0;
  virtual void run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
                   AbiTiming* timing) const = 0;
  // No tile comes to that part of the area any more. Doesn't throw.
  virtual void finished(const Rect&) const {}
};

// Throws Error(kOutOfMemory): a budget of so many bytes fits no tile.
[[noreturn]] void throw_no_room(uint64_t budget);

// Fills target from source, which holds all that the plan needs of the image. All are borrowed;
// without a flow the source is there from the start.
class ImageWork final : public TileWork {
 public:
  ImageWork(const Plan& plan, const ConstImage& source, const MutableImage& target,
            const Callbacks& callbacks, const PixelFlow* flow = nullptr)
      : plan_(plan), source_(source), target_(target), callbacks_(callbacks), flow_(flow) {}

  Rect area() const override { return target_.rect; }
  const Callbacks& callbacks() const override { return callbacks_; }
  int32_t smallest_side() const override;
  Cut choose_cut(const Backend& backend, int32_t devices) const override;
  void run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
           AbiTiming* timing) const override;
  void finished(const Rect& tile) const override;

 private:
  TileSize largest_tile(const Backend& backend, uint64_t budget, int32_t devices) const;
  int32_t band_rows() const;

  const Plan& plan_;
  const ConstImage& source_;
  const MutableImage& target_;
  const Callbacks& callbacks_;
  const PixelFlow* flow_;
};

// Does the work on the accelerators together, each of which takes tiles of its own size. A card
// that runs out of memory gets smaller tiles; a card that fails, or can't do what the plan asks, is
// left out and its tile is somebody else's; what no card could do, the CPU does. Throws Error:
// kCancelled, or what the CPU failed with. Fills device, fallbacks, tiles, timings and peak_memory
// of the report, and failed_devices with those that are to be opened afresh.
void run_tiles(const TileWork& work, const std::vector<std::shared_ptr<Backend>>& accelerators,
               const std::shared_ptr<Backend>& cpu, Report& report,
               std::vector<std::string>& failed_devices);

}  // namespace grainless
