// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend.h"
#include "denoise.h"

namespace grainless {

// What every tile of one call shares.
struct TileWork {
  const Plan* plan;
  const ConstImage* source;
  const MutableImage* target;
  const Callbacks* callbacks;
};

// Computes the target on the accelerators together, one queue of tiles for all. A card that runs
// out of memory gets smaller tiles; a card that fails is left out and its tile goes back to the
// queue; what no card could do, the CPU does. Throws Error: kCancelled, or what the CPU failed
// with. Fills device, fallbacks, tiles, timings and peak_memory of the report.
void run_tiles(const TileWork& work, const std::vector<std::shared_ptr<Backend>>& accelerators,
               const std::shared_ptr<Backend>& cpu, Report& report,
               std::vector<std::string>& failed_devices);

// Sides of the tiles into which `area` is cut for a backend: as few as its budget allows, at least
// `parts` of them where the area is large enough to share.
struct TileSize {
  int32_t width, height;
};
TileSize choose_tile(const Backend& backend, const Plan& plan, const Rect& area, int32_t parts);

}  // namespace grainless
