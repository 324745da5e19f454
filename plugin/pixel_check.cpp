// SPDX-License-Identifier: MIT
#include "pixel_check.h"

#include <utility>

namespace grainless {

PixelCheck::PixelCheck(std::vector<const LoadedLayer*> layers) : layers_(std::move(layers)) {}

bool PixelCheck::go_on(int64_t end) {
  for (; layer_ < layers_.size(); ++layer_, chunk_ = 0, now_.reset()) {
    const LoadedLayer& layer = *layers_[layer_];
    layer.io().expect_accessible();
    if (!now_) now_ = layer.io().buffer_now();
    for (; chunk_ < layer.chunks(); ++chunk_) {
      if (g_get_monotonic_time() > end) return false;
      if (layer.is_unchanged(chunk_, now_.get())) continue;
      found_change_ = true;
      return true;
    }
  }
  return true;
}

}  // namespace grainless
