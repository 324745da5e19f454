// SPDX-License-Identifier: MIT
// How a run's buffers lie in its slot's memory.
#pragma once

#include <utility>

#include "cuda/frame/pixels.cuh"
#include "engine/boundary/pixel_math.h"
#include "engine/boundary/status.h"
#include "handles.h"
#include "sizes.h"

namespace grainless::cuda {

inline constexpr int kPlaneAlign = 32;  // floats

inline size_t row_bytes(const Plan& plan, int width) {
  return aligned(static_cast<size_t>(width) * plan.format.pixel_bytes());
}

inline int plane_stride(int width) {
  return (width + kPlaneAlign - 1) / kPlaneAlign * kPlaneAlign;
}

inline size_t plane_bytes(const Plan& plan, int width, int height) {
  return aligned(sizeof(float) * plane_stride(width) * height * plan.channels);
}

inline Colour hidden_of(const Plan& plan) {
  return {{plan.hidden[0], plan.hidden[1], plan.hidden[2]}};
}

// Cuts a slot's arena into the buffers of one run.
class Cutter {
 public:
  Cutter(void* memory, size_t bytes) : next_(static_cast<uint8_t*>(memory)), left_(bytes) {}

  void* take(size_t bytes) {
    bytes = aligned(bytes);
    if (bytes > left_) throw Error(ErrorCode::kInternal, "a run needs more than it reserved");
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }
  DevicePixels pixels(const Plan& plan, const AbiTile& tile, const Rect& rect) {
    const size_t row = row_bytes(plan, rect.width);
    return {plan.format,
            {0, 0, tile.image_width, tile.image_height},
            rect,
            take(row * rect.height),
            row,
            plan.valid,
            field_of(plan.corners, tile.image_width, tile.image_height),
            plan.bend,
            hidden_of(plan)};
  }
  DevicePlanes planes(const Plan& plan, const Rect& rect) {
    return {static_cast<float*>(take(plane_bytes(plan, rect.width, rect.height))), plan.channels,
            rect, plane_stride(rect.width)};
  }
  size_t left() const { return left_; }

 private:
  uint8_t* next_;
  size_t left_;
};

inline double seconds_between(const Event& from, const Event& to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "timing");
  return milliseconds / 1000.0;
}

// Calls a function when leaving a block, however that happens.
template <typename Function>
class AtExit {
 public:
  explicit AtExit(Function function) : function_(std::move(function)) {}
  ~AtExit() { function_(); }
  AtExit(const AtExit&) = delete;

 private:
  Function function_;
};

}  // namespace grainless::cuda
