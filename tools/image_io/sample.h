// SPDX-License-Identifier: MIT
// One sample of a picture: integers span 0..1 of their type's range, floats are what they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/pixels.h"

namespace grainless::tools {

template <typename Sample>
Sample load_as(const uint8_t* from) {
  Sample sample;
  std::memcpy(&sample, from, sizeof sample);
  return sample;
}

inline double load_sample(const uint8_t* from, Component component) {
  switch (component) {
    case Component::kU8:
      return *from / 255.0;
    case Component::kU16:
      return load_as<uint16_t>(from) / 65535.0;
    case Component::kHalf:
      return float_from_half(load_as<uint16_t>(from));
    case Component::kFloat:
      break;
  }
  return load_as<float>(from);
}

// Clips, and rounds to nearest; what is not a number becomes 0.
template <typename Integer>
Integer nearest_integer(double value) {
  constexpr double kMax = std::numeric_limits<Integer>::max();
  return value > 0 ? static_cast<Integer>(std::min(value, 1.0) * kMax + 0.5) : Integer{0};
}

// Integers by nearest_integer(); floats are neither clipped nor changed otherwise.
inline void store_sample(uint8_t* to, Component component, double value) {
  const auto store = [to](auto sample) { std::memcpy(to, &sample, sizeof sample); };
  switch (component) {
    case Component::kU8:
      return store(nearest_integer<uint8_t>(value));
    case Component::kU16:
      return store(nearest_integer<uint16_t>(value));
    case Component::kHalf:
      return store(half_from_float(static_cast<float>(value)));
    case Component::kFloat:
      break;
  }
  store(static_cast<float>(value));
}

}  // namespace grainless::tools
