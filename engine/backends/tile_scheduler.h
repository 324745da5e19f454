// SPDX-License-Identifier: MIT
// Distributes the tiles of an image, or the slabs of a volume, to backends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend.h"
#include "engine/denoise.h"
#include "tile_grid.h"
#include "uncut_area.h"

namespace grainless {

// Which tiles a backend takes, and how many at a time.
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
  // The tiles into which the area is cut for a backend when `devices` share it: as large as the
  // budget allows, but enough for the transfers of one to overlap the kernels of another. Throws
  // Error(kOutOfMemory) when the budget is too small for the smallest tile.
  virtual Cut choose_cut(const Backend& backend, int32_t devices) const = 0;
  virtual void run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
                   AbiTiming* timing) const = 0;
  // Called when that part of the area is final. Must not throw.
  virtual void finished(const Rect&) const {}
};

// Throws Error(kOutOfMemory), whose sentence says that a budget of so many bytes fits no tile.
[[noreturn]] void throw_no_room(uint64_t budget);

// Fills target from source, which holds all that the plan needs of the image. All arguments must
// outlive this object. Without a flow the whole source is there from the start.
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
  Grid grid(const Backend& backend, uint64_t budget, int32_t devices) const;
  uint64_t tile_bytes(const Backend& backend, TileSize tile) const;
  int32_t band_rows() const;

  const Plan& plan_;
  const ConstImage& source_;
  const MutableImage& target_;
  const Callbacks& callbacks_;
  const PixelFlow* flow_;
};

// Does the work on all accelerators together, each of which takes tiles of its own size. A card
// that runs out of memory gets smaller tiles. A card that fails, or can't do what the plan asks
// for, is left out, and its tile goes to another device. The CPU does what no card could do. Throws
// Error(kCancelled), or what the CPU failed with. Sets device, fallbacks, tiles, timings and
// peak_memory of the report, and failed_devices to those that have to be opened again.
void run_tiles(const TileWork& work, const std::vector<std::shared_ptr<Backend>>& accelerators,
               const std::shared_ptr<Backend>& cpu, Report& report,
               std::vector<std::string>& failed_devices);

}  // namespace grainless
