// SPDX-License-Identifier: MIT
// Rows of pixels between pageable host memory and the device, through a lane's two pinned buffers:
// the host copies one while the device transfers the other.
#pragma once

#include "engine/abi.h"
#include "pixels.cuh"
#include "session.h"

namespace grainless::cuda {

void upload(Lane& lane, const void* source, int64_t source_row_bytes, const DevicePixels& to,
            const AbiCallbacks* callbacks);
// Returns when the last row has arrived.
void download(Lane& lane, const DevicePixels& from, void* target, int64_t target_row_bytes,
              const AbiCallbacks* callbacks);

}  // namespace grainless::cuda
