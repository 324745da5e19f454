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
int prepare_staging(Lane& lane, size_t line) {
  const size_t bytes = std::max(kStagingBytes, line);
  if (lane.staging_bytes < bytes) {
    for (PinnedMemory& buffer : lane.staging) buffer = allocate_pinned(bytes);
    lane.staging_bytes = bytes;
  }
  return static_cast<int>(std::min<size_t>(lane.staging_bytes / line, 1 << 20));
}

void copy_lines(void* to, int64_t to_row, const void* from, int64_t from_row, size_t line,
                int rows) {
  for (int y = 0; y < rows; ++y) {
    std::memcpy(static_cast<uint8_t*>(to) + y * to_row,
                static_cast<const uint8_t*>(from) + y * from_row, line);
  }
}

uint8_t* device_row(const DevicePixels& pixels, int y) {
  return static_cast<uint8_t*>(pixels.data) + y * pixels.row_bytes;
}

}  // namespace

void upload(Lane& lane, const void* source, int64_t source_row_bytes, const DevicePixels& to,
            const AbiCallbacks* callbacks) {
  const size_t line = line_bytes(to);
  const int step = prepare_staging(lane, line);
  for (int y = 0, turn = 0; y < to.rect.height; y += step, ++turn) {
    const int rows = std::min(step, to.rect.height - y), buffer = turn & 1;
    throw_if_cancelled(callbacks);
    if (turn >= 2) wait_for(lane.staged[buffer].get(), callbacks);
    void* staging = lane.staging[buffer].get();
    copy_lines(staging, line, static_cast<const uint8_t*>(source) + y * source_row_bytes,
               source_row_bytes, line, rows);
    check(cudaMemcpy2DAsync(device_row(to, y), to.row_bytes, staging, line, line, rows,
                            cudaMemcpyHostToDevice, lane.stream.get()),
          "uploading pixels");
    check(cudaEventRecord(lane.staged[buffer].get(), lane.stream.get()), "uploading pixels");
  }
}

void download(Lane& lane, const DevicePixels& from, void* target, int64_t target_row_bytes,
              const AbiCallbacks* callbacks) {
  const size_t line = line_bytes(from);
  const int step = prepare_staging(lane, line), height = from.rect.height;
  const auto fetch = [&](int turn) {
    const int y = turn * step, rows = std::min(step, height - y);
    if (rows <= 0) return;
    check(cudaMemcpy2DAsync(lane.staging[turn & 1].get(), line, device_row(from, y), from.row_bytes,
                            line, rows, cudaMemcpyDeviceToHost, lane.stream.get()),
          "downloading pixels");
    // Before the one that is waited for: who has waited may ask for times.
    if (y + rows == height) {
      check(cudaEventRecord(lane.downloaded.get(), lane.stream.get()), "downloading pixels");
    }
    check(cudaEventRecord(lane.staged[turn & 1].get(), lane.stream.get()), "downloading pixels");
  };
  fetch(0);
  for (int y = 0, turn = 0; y < height; y += step, ++turn) {
    if (turn == 0) fetch(1);
    wait_for(lane.staged[turn & 1].get(), callbacks);
    copy_lines(static_cast<uint8_t*>(target) + y * target_row_bytes, target_row_bytes,
               lane.staging[turn & 1].get(), line, line, std::min(step, height - y));
    fetch(turn + 2);
  }
}

}  // namespace grainless::cuda
