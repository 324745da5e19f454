// SPDX-License-Identifier: MIT
#include "noise.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "engine/boundary/status.h"

namespace grainless::tools {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): the output function of its counter.
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

constexpr uint64_t kGamma = 0x9e3779b97f4a7c15u;
constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53

}  // namespace

// Written so that "nan" is refused, too.
void check_noise(const std::optional<double>& sigma) {
  constexpr double kMost = 1000;
  if (sigma && !(*sigma >= 0 && *sigma <= kMost)) {
    throw Error(ErrorCode::kBadParameter, "--add-noise takes a number from 0 to 1000");
  }
}

double normal_noise(uint64_t seed, uint64_t index) {
  const uint64_t start = mix(seed + kGamma) + 2 * index * kGamma;
  const double u = double((mix(start) >> 11) + 1) * kUnit;  // in (0, 1]
  const double v = double(mix(start + kGamma) >> 11) * kUnit;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

void add_noise(Image& image, double sigma, uint64_t seed) {
  const size_t channels = size_t(image.format.channels), colours = size_t(image.format.colours());
  const size_t pixels = size_t(image.width) * size_t(image.height);
  uint64_t index = 0;
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t c = 0; c < colours; ++c) {
      uint8_t* at = image.pixels.get() + (p * channels + c) * sizeof(float);
      float value;
      std::memcpy(&value, at, sizeof value);
      value += static_cast<float>(sigma / 255.0 * normal_noise(seed, index++));
      std::memcpy(at, &value, sizeof value);
    }
  }
}

}  // namespace grainless::tools
