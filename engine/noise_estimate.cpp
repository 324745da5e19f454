// SPDX-License-Identifier: MIT
#include "noise_estimate.h"

#include <algorithm>
#include <cmath>

#include "flat_blocks.h"
#include "noise_sample.h"
#include "weak_texture.h"

namespace grainless {
namespace {

constexpr int32_t kLumaBlock = 16, kChromaBlock = 32;  // JPEG's chroma is constant within 16 pixels
constexpr double kLeast = 0.3;  // smaller sigmas are the rounding of 8-bit pixels

// What was measured of one channel.
struct Measured {
  double fine = 0;    // white noise of the finest band, level 0
  double halved = 0;  // the same at half resolution
  FlatNoise flat;
};

// Flat graphics and gradients repeat their pixels; noise of a level or more does not.
bool looks_drawn(const Sample& sample) {
  int64_t counted = 0, repeated = 0;
  for (const SampleTile& tile : sample.tiles) {
    for (uint8_t state : tile.state) {
      if ((state & (kInvalid | kClipped)) != 0) continue;
      ++counted;
      repeated += (state & kRepeated) != 0 ? 1 : 0;
    }
  }
  return 5 * repeated >= 4 * counted;
}

// White noise is as strong in the finest band as in flat blocks, and halves with resolution.
// Texture lifts what flat blocks show, and the half resolution more than the full one.
bool is_white(const Measured& m) {
  if (m.fine <= 0) return false;
  const double share = m.fine / std::max(m.fine, m.flat.sigma[0]);
  const double persistence = 2 * m.halved / m.fine;
  return (share > 0.15 && persistence < 1.6) || (share > 0.6 && persistence < 3.0);
}

void set_white(NoiseModel& noise, int32_t channel, double sigma) {
  for (int32_t l = 0; l < noise.levels; ++l) {
    noise.sigma[l][channel] = static_cast<float>(std::ldexp(sigma, -l));
  }
}

// `sigma` at full resolution as flat blocks show it; the levels keep the proportions found there.
void set_correlated(NoiseModel& noise, int32_t channel, const FlatNoise& flat, double sigma) {
  noise.white[channel] = false;
  for (int32_t l = 0; l < noise.levels; ++l) {
    const double share = flat.sigma[0] > 0 ? flat.sigma[l] / flat.sigma[0] : 1.0;
    noise.sigma[l][channel] = static_cast<float>(kFlatShare * sigma * share);
  }
}

// Luma whose noise is not white. A curved surface leaves no more in the finest band than in the
// next: noise always does.
double correlated_luma(const FlatNoise& flat, double chroma) {
  const double fine = flat.sigma[0], half = flat.sigma[1];
  const double band = std::sqrt(std::max(0.0, fine * fine - half * half));
  double sigma = std::min(fine, 2.5 * band);
  // A camera that has cleaned colour leaves little in luma; much more than that is texture.
  if (chroma >= 0) sigma = std::min(sigma, 3.0 + 3.0 * chroma);
  return sigma;
}

// The more a camera has reduced the noise of colour, the more it has smoothed luma, too. Found on
// simulated development with and without noise reduction (1.3 and 2 or more in luma, where the
// filtered picture is nearest to the clean one) and on camera JPEGs (2 to 4).
void set_strength(NoiseModel& noise, double chroma_share) {
  const double reduced = std::clamp((1.0 - chroma_share) / 0.5, 0.0, 1.0);
  for (int32_t c = 0; c < noise.channels; ++c) {
    if (noise.white[c]) continue;
    noise.strength[c] = static_cast<float>(c == 0 ? 1.1 + 0.6 * reduced : 1.0 + 2.2 * reduced);
  }
}

// Without colour to compare with, texture is told from noise by what noise can't do: leave out some
// of the tones, or leave next to nothing in the finest band (camera JPEGs: a tenth at least, beyond
// the rounding of their pixels).
double correlated_grey(const Measured& luma) {
  constexpr double kRounding = 1.0 / 12, kOverFinest = 10.0;
  const double finest = std::sqrt(std::max(kRounding, luma.fine * luma.fine - kRounding));
  return std::min({correlated_luma(luma.flat, -1), luma.flat.calmest, kOverFinest * finest});
}

void estimate_grey(const Measured& luma, NoiseModel& noise) {
  if (is_white(luma)) {
    set_white(noise, 0, luma.fine);
  } else {
    set_correlated(noise, 0, luma.flat, correlated_grey(luma));
    set_strength(noise, 0.75);
  }
}

void estimate_colour(const Measured* m, NoiseModel& noise) {
  // Texture is mostly colourless: where both chroma channels hold white noise, the three colours
  // do, and independent noise of R, G and B has var Y = (var U + var V) / 2.
  const bool white_chroma = is_white(m[1]) && is_white(m[2]);
  const double expected = std::sqrt(0.5 * (m[1].fine * m[1].fine + m[2].fine * m[2].fine));
  double luma = 0;
  if (white_chroma && m[0].fine >= 0.7 * expected && expected > kLeast) {
    luma = m[0].fine <= 1.5 * expected ? expected : m[0].fine;
    set_white(noise, 0, luma);
  } else if (is_white(m[0])) {
    luma = m[0].fine;
    set_white(noise, 0, luma);
  } else {
    luma = correlated_luma(m[0].flat, 0.5 * (m[1].flat.sigma[0] + m[2].flat.sigma[0]));
    set_correlated(noise, 0, m[0].flat, luma);
  }
  for (int32_t c = 1; c < 3; ++c) {
    if (is_white(m[c])) {
      set_white(noise, c, m[c].fine);
    } else {
      // Cameras reduce noise of colour more than of luma, but hardly below a third.
      const double least = noise.white[0] ? 0.0 : 0.3 * luma;
      set_correlated(noise, c, m[c].flat, std::clamp(m[c].flat.sigma[0], least, 2.0 * luma));
    }
  }
  const double chroma = 0.5 * (m[1].flat.sigma[0] + m[2].flat.sigma[0]);
  set_strength(noise, luma > 0 ? chroma / luma : 1.0);
}

void drop_imperceptible(NoiseModel& noise) {
  for (int32_t c = 0; c < noise.channels; ++c) {
    if (noise.sigma[0][c] >= kLeast) continue;
    for (int32_t l = 0; l < noise.levels; ++l) noise.sigma[l][c] = 0;
  }
}

}  // namespace

NoiseModel estimate_noise(const ConstImage& image, ThreadPool& pool, const Callbacks& callbacks,
                          int32_t most_tiles) {
  NoiseModel noise;
  noise.channels = image.format.colours();
  noise.levels = kSampleLevels;
  const Sample sample = take_sample(image, pool, callbacks, most_tiles);
  callbacks.report(0.2);
  if (looks_drawn(sample)) return noise;
  Measured measured[kMaxChannels];
  for (int32_t c = 0; c < noise.channels; ++c) {
    measured[c].fine = weak_texture_sigma(sample, c, 0, pool, callbacks);
    measured[c].halved = weak_texture_sigma(sample, c, 1, pool, callbacks);
    measured[c].flat = flat_block_noise(sample, c, c == 0 ? kLumaBlock : kChromaBlock, pool);
    callbacks.report(0.2 + 0.8 * (c + 1) / noise.channels);
  }
  if (noise.channels == 1) {
    estimate_grey(measured[0], noise);
  } else {
    estimate_colour(measured, noise);
  }
  drop_imperceptible(noise);
  return noise;
}

}  // namespace grainless
