// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace grainless {

inline constexpr int32_t kMaxChannels = 3;  // luma and two chroma planes, or grey alone
inline constexpr int32_t kMaxLevels = 4;    // full, half, quarter, eighth resolution

// Standard deviation of the noise, in 8-bit steps of the perceptual encoding, a channel of the
// orthonormal luma/chroma space (pixel_math.h: white RGB noise has the same sigma in all three) and
// a level of resolution. White noise halves from level to level when a level is the mean of 2 × 2
// pixels of the one before.
struct NoiseModel {
  int32_t channels = 0;  // 1 or 3
  int32_t levels = 0;    // how many rows of sigma are known; at least 1
  float sigma[kMaxLevels][kMaxChannels] = {};
  // False: demosaicing, noise reduction or JPEG took the finest detail out of the noise.
  bool white[kMaxChannels] = {true, true, true};
  // What a filter should multiply sigma by: a patch of correlated noise holds few independent
  // values, and looks more like signal than a patch of white noise of the same sigma.
  float strength[kMaxChannels] = {1, 1, 1};
};

inline NoiseModel white_noise(int32_t channels, float sigma) {
  NoiseModel noise{channels, 1, {}};
  for (int32_t c = 0; c < channels; ++c) noise.sigma[0][c] = sigma;
  return noise;
}

}  // namespace grainless
