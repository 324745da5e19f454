// SPDX-License-Identifier: MIT
// Rows of pixels between pageable host memory and the device, through a slot's two pinned buffers:
// the host copies one while the device transfers the other.
#pragma once

#include "cuda/frame/pixels.cuh"
#include "engine/boundary/abi.h"
#include "session.h"

namespace grainless::cuda {

// The host's side are layers of `height` rows; the device's are all their rows, one after another.
struct HostRows {
  const AbiLayer* layers;
  int height;

  uint8_t* row(int y) const {
    const AbiLayer& layer = layers[y / height];
    return static_cast<uint8_t*>(layer.data) + y % height * layer.row_bytes;
  }
};

void upload(RunSlot& slot, const HostRows& from, const DevicePixels& to,
            const AbiCallbacks* callbacks);
// Returns when the last row has arrived.
void download(RunSlot& slot, const DevicePixels& from, const HostRows& to,
              const AbiCallbacks* callbacks);

}  // namespace grainless::cuda
