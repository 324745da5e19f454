// SPDX-License-Identifier: MIT
#include "neutral.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace grainless {
namespace {

constexpr float kNeutral = 0.02f;  // steps of chroma that rounding may leave

bool is_grey(const SampleTile& tile, size_t at) {
  return std::abs(tile.plane[0][1][at]) <= kNeutral && std::abs(tile.plane[0][2][at]) <= kNeutral;
}

// Sums over the pixels of a piece of the luma range.
struct Tone {
  double pixels = 0, y = 0, yy = 0, c[2] = {}, cc[2] = {}, yc[2] = {};

  void add(const SampleTile& tile, size_t at) {
    const double luma = tile.plane[0][0][at];
    ++pixels;
    y += luma;
    yy += luma * luma;
    for (int32_t k = 0; k < 2; ++k) {
      const double chroma = tile.plane[0][k + 1][at];
      c[k] += chroma;
      cc[k] += chroma * chroma;
      yc[k] += luma * chroma;
    }
  }

  double spread() const { return yy - y * y / pixels; }
  double rise(int32_t k) const { return yc[k] - y * c[k] / pixels; }
  // Of the line through its pixels, and the sum of squares that it leaves.
  double slope(int32_t k) const {
    return spread() > pixels * kLeastSpread ? rise(k) / spread() : 0;
  }
  double left(int32_t k) const { return cc[k] - c[k] * c[k] / pixels - slope(k) * rise(k); }

 private:
  static constexpr double kLeastSpread = 1.0 / 12;  // rounding alone says nothing of a slope
};

// A curve of chroma over luma, in pieces of 8 greys; the last ones hold what lies beyond.
constexpr size_t kPieces = 32;
using ToneCurve = std::array<Tone, kPieces>;

bool is_in_tone(const SampleTile& tile, size_t at) {
  return (tile.state[at] & (kInvalid | kClipped)) == 0;
}

void add_tile(const SampleTile& tile, ToneCurve& curve) {
  for (size_t i = 0; i < tile.state.size(); ++i) {
    if (!is_in_tone(tile, i)) continue;
    // Float pictures are of any range.
    const float piece = std::clamp(tile.plane[0][0][i] / kLumaOfGrey / 8, 0.0f, kPieces - 1.0f);
    curve[static_cast<size_t>(piece)].add(tile, i);
  }
}

double pixels_of(const ToneCurve& curve) {
  double pixels = 0;
  for (const Tone& tone : curve) pixels += tone.pixels;
  return pixels;
}

// Sum of squares by which either chroma misses the curve: more with every pixel.
double left_of(const ToneCurve& curve) {
  double left[2] = {};
  for (const Tone& tone : curve) {
    if (tone.pixels == 0) continue;
    for (int32_t k = 0; k < 2; ++k) left[k] += tone.left(k);
  }
  return std::max(left[0], left[1]);
}

// Where chroma lies on it. Rounding of three channels leaves 0.29; noise of colour that is no
// stronger is none.
std::optional<ToneCurve> curve_over_luma(const Sample& sample) {
  constexpr double kMostLeft = 0.5 * 0.5;
  double all = 0;
  for (const SampleTile& tile : sample.tiles) all += static_cast<double>(tile.state.size());
  ToneCurve curve;
  for (const SampleTile& tile : sample.tiles) {
    add_tile(tile, curve);
    if (left_of(curve) > kMostLeft * all) return std::nullopt;  // a colour photograph's first tile
  }
  const double pixels = pixels_of(curve);
  if (pixels == 0 || left_of(curve) > kMostLeft * pixels) return std::nullopt;
  return curve;
}

// Of half of the pixels chroma k is steeper: where one channel is clipped it is very steep.
float median_slope(const ToneCurve& curve, int32_t k) {
  std::vector<std::pair<double, double>> pieces;
  for (const Tone& tone : curve) {
    if (tone.pixels > 0) pieces.emplace_back(std::abs(tone.slope(k)), tone.pixels);
  }
  std::sort(pieces.begin(), pieces.end());
  const double pixels = pixels_of(curve);
  double flatter = 0;
  for (const auto& [slope, count] : pieces) {
    flatter += count;
    if (2 * flatter >= pixels) return static_cast<float>(slope);
  }
  return 0;
}

}  // namespace

bool is_neutral(const Sample& sample) {
  if (sample.channels != 3) return false;
  int64_t pixels = 0, invalid = 0, coloured = 0;
  for (const SampleTile& tile : sample.tiles) pixels += static_cast<int64_t>(tile.state.size());
  for (const SampleTile& tile : sample.tiles) {
    // A colour photograph's first tiles tell.
    if (100 * coloured > pixels) return false;
    for (size_t i = 0; i < tile.state.size(); ++i) {
      if ((tile.state[i] & kInvalid) != 0) {
        ++invalid;
      } else if (!is_grey(tile, i)) {
        ++coloured;
      }
    }
  }
  return 100 * coloured <= pixels - invalid;
}

std::optional<Toning> find_toning(const Sample& sample) {
  if (sample.channels != 3) return std::nullopt;
  if (is_neutral(sample)) return Toning{};
  const std::optional<ToneCurve> curve = curve_over_luma(sample);
  if (!curve) return std::nullopt;
  return Toning{{1, median_slope(*curve, 0), median_slope(*curve, 1)}};
}

Sample grey_sample(const Sample& sample) {
  const bool neutral = is_neutral(sample);
  Sample grey;
  grey.channels = 1;
  grey.clipped_share = sample.clipped_share;
  for (const SampleTile& tile : sample.tiles) {
    SampleTile& one = grey.tiles.emplace_back();
    one.x = tile.x;
    one.y = tile.y;
    one.width = tile.width;
    one.height = tile.height;
    one.state = tile.state;
    one.plane[0][0].resize(tile.state.size());
    for (size_t i = 0; i < tile.state.size(); ++i) {
      one.plane[0][0][i] = tile.plane[0][0][i] / kLumaOfGrey;
      if (neutral && !is_grey(tile, i)) one.state[i] |= kInvalid;
    }
    make_levels(one, 1);
  }
  return grey;
}

PictureNoise noise_of_toned(const PictureNoise& grey, const Toning& toning) {
  PictureNoise noise = grey;
  noise.channels = 3;
  noise.toned = !toning.is_neutral();
  for (int32_t c = 0; c < 3; ++c) {
    noise.white[c] = grey.white[0];
    noise.strength[c] = grey.strength[0];
    for (int32_t l = 0; l < kMaxLevels; ++l) {
      noise.sigma[l][c] = kLumaOfGrey * toning.slope[c] * grey.sigma[l][0];
    }
  }
  return noise;
}

}  // namespace grainless
