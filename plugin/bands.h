// SPDX-License-Identifier: MIT
// The main thread takes a drawable's pixels piece by piece: between two pieces it looks whether the
// user wants to go on, and says how far it is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "drawable_io.h"
#include "engine/boundary/rect.h"
#include "engine/progress.h"

namespace grainless {

constexpr int32_t kBandRows = 128;  // a row of GIMP's tiles

inline GeglRectangle gegl_rect(const Rect& rect) {
  return {rect.x, rect.y, rect.width, rect.height};
}

// Of work that takes too little time to be looked on at, or can't stop any more.
inline CallMonitor nobody() {
  return {[](double) {}, nullptr};
}

inline void throw_if_cancelled(const CallMonitor& monitor) {
  throw_if_cancelled(monitor.cancel);
}

// Calls body for every band of rows of rect, top down.
template <typename Body>
void for_each_band(const Rect& rect, const CallMonitor& monitor, const Body& body) {
  for (int32_t y = rect.y; y < rect.bottom(); y += kBandRows) {
    throw_if_cancelled(monitor);
    body(Rect{rect.x, y, rect.width, std::min(kBandRows, rect.bottom() - y)});
    monitor.progress(std::min(1.0, double(y + kBandRows - rect.y) / rect.height));
  }
}

}  // namespace grainless
