// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "loaded_layer.h"

namespace grainless {

// Compares what was read of layers with what GIMP holds now, piece by piece. Main thread. The
// layers outlive it.
class PixelCheck {
 public:
  explicit PixelCheck(std::vector<const LoadedLayer*> layers);

  // Goes on until the time (monotonic, microseconds) comes. False: it came before the end. Throws
  // when GIMP has no such layer any more.
  bool go_on(int64_t end);
  bool found_change() const { return found_change_; }

 private:
  std::vector<const LoadedLayer*> layers_;
  size_t layer_ = 0;
  int32_t chunk_ = 0;
  DrawableIo::Buffer
      now_;  // of layers_[layer_]; another one than it was read from, which keeps that
  bool found_change_ = false;
};

}  // namespace grainless
