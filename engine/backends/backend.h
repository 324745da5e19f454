// SPDX-License-Identifier: MIT
// What every backend offers the tile scheduler.
#pragma once

#include <string>

#include "engine/boundary/abi.h"
#include "engine/progress.h"

namespace grainless {

// Computes tiles: the CPU, or one device of a module. Errors are thrown as Error.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;         // "cpu", "cuda:0"
  virtual std::string description() const = 0;  // for people: the processor's or card's name
  // How many run() calls at once are worthwhile.
  virtual int32_t concurrency() const = 0;
  // kOk when this backend can do what the plan asks for; else one sentence says what it can't.
  virtual Status supports(const Plan& plan) const = 0;
  // The bytes that one run() needs beyond source and target, for a tile whose `in` is width x
  // height pixels; and the bytes that all runs together may take now. Throws Error when the device
  // doesn't answer.
  virtual uint64_t tile_bytes(const Plan& plan, int32_t width, int32_t height) const = 0;
  virtual uint64_t budget() const = 0;
  // What tiles should keep to that are cut for that plan: the bytes of all at once, and the longest
  // side of `out` that gains anything, in pixels; 0: there is no such bound.
  virtual uint64_t tile_budget(const Plan&) const { return budget(); }
  virtual int32_t preferred_side(const Plan& plan) const = 0;

  // Computes tile.out from tile.in; the result does not depend on how the image was cut. Checks for
  // cancellation at least every 50 ms and then throws Error(kCancelled).
  virtual void run(const Plan& plan, const AbiTile& tile, const Callbacks& callbacks,
                   AbiTiming* timing) = 0;

  // The same for slabs of volumes.
  virtual Status supports_volume(const Plan& plan, const VolumePlan& volume) const = 0;
  virtual uint64_t slab_bytes(const Plan& plan, const VolumePlan& volume, int32_t width,
                              int32_t height, int32_t in_layers, int32_t out_layers) const = 0;
  virtual void run_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                        const Callbacks& callbacks, AbiTiming* timing) = 0;
};

}  // namespace grainless
