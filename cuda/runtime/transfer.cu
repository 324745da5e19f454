// SPDX-License-Identifier: MIT
#include "transfer.h"

#include <algorithm>
#include <cstring>

namespace grainless::cuda {
namespace {

// Large enough to reach the bus's full rate, small enough for the processor's cache.
constexpr size_t kStagingBytes = size_t{4} << 20;

size_t line_bytes(const DevicePixels& pixels) {
  return static_cast<size_t>(pixels.rect.width) * pixels.format.pixel_bytes();
}

// Makes the staging buffers hold at least one row; returns how many they hold.
int prepare_staging(RunSlot& slot, size_t line) {
  const size_t bytes = std::max(kStagingBytes, line);
  if (slot.staging_bytes < bytes) {
    slot.staging_bytes = 0;
    for (PinnedMemory& buffer : slot.staging) {
      buffer.reset();
      buffer = allocate_pinned(bytes);
    }
    slot.staging_bytes = bytes;
  }
  return static_cast<int>(std::min<size_t>(slot.staging_bytes / line, 1 << 20));
}

uint8_t* device_row(const DevicePixels& pixels, int y) {
  return static_cast<uint8_t*>(pixels.data) + y * pixels.row_bytes;
}

}  // namespace

void upload(RunSlot& slot, const HostRows& from, const DevicePixels& to,
            const AbiCallbacks* callbacks) {
  const size_t line = line_bytes(to);
  const int step = prepare_staging(slot, line);
  for (int y = 0, turn = 0; y < to.rect.height; y += step, ++turn) {
    const int rows = std::min(step, to.rect.height - y), buffer = turn & 1;
    throw_if_cancelled(callbacks);
    if (turn >= 2) wait_for(slot.staged[buffer].get(), callbacks);
    auto* staging = static_cast<uint8_t*>(slot.staging[buffer].get());
    for (int i = 0; i < rows; ++i) std::memcpy(staging + i * line, from.row(y + i), line);
    check(cudaMemcpy2DAsync(device_row(to, y), to.row_bytes, staging, line, line, rows,
                            cudaMemcpyHostToDevice, slot.stream.get()),
          "uploading pixels");
    check(cudaEventRecord(slot.staged[buffer].get(), slot.stream.get()), "uploading pixels");
  }
}

void download(RunSlot& slot, const DevicePixels& from, const HostRows& to,
              const AbiCallbacks* callbacks) {
  const size_t line = line_bytes(from);
  const int step = prepare_staging(slot, line), height = from.rect.height;
  const auto fetch = [&](int turn) {
    const int y = turn * step, rows = std::min(step, height - y);
    if (rows <= 0) return;
    check(cudaMemcpy2DAsync(slot.staging[turn & 1].get(), line, device_row(from, y), from.row_bytes,
                            line, rows, cudaMemcpyDeviceToHost, slot.stream.get()),
          "downloading pixels");
    // Before the one that is waited for: who has waited may ask for times.
    if (y + rows == height) {
      check(cudaEventRecord(slot.downloaded.get(), slot.stream.get()), "downloading pixels");
    }
    check(cudaEventRecord(slot.staged[turn & 1].get(), slot.stream.get()), "downloading pixels");
  };
  fetch(0);
  for (int y = 0, turn = 0; y < height; y += step, ++turn) {
    if (turn == 0) fetch(1);
    wait_for(slot.staged[turn & 1].get(), callbacks);
    const auto* staging = static_cast<const uint8_t*>(slot.staging[turn & 1].get());
    for (int i = 0; i < std::min(step, height - y); ++i) {
      std::memcpy(to.row(y + i), staging + i * line, line);
    }
    fetch(turn + 2);
  }
}

}  // namespace grainless::cuda
