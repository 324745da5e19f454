// SPDX-License-Identifier: MIT
#include "dark_tones.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/boundary/pixel_math.h"

namespace grainless {
namespace {

constexpr double kBlack = 2e-3;  // steps; planes are not exact to the last bits
constexpr double kWhite = 255;
constexpr double kHalfPixels = kDarkSide * kDarkSide / 2;

// A half of a block where the other half has a certain tone.
struct Half {
  double variance;     // of that other half
  double mean, zeros;  // of this one
};

struct Tones {
  std::array<int64_t, kDarkTones> blocks = {};
  std::array<std::vector<Half>, kDarkTones> halves;
};

struct Part {
  const SampleTile* tile;
  int32_t channels;
  Tones tones;
};

// One colour of a block, in halves like the fields of a chessboard.
struct Block {
  double sum[2] = {}, squares[2] = {}, zeros[2] = {};

  void add(int32_t half, double value) {
    sum[half] += value;
    squares[half] += value * value;
    zeros[half] += value < kBlack ? 1 : 0;
  }
};

// kDarkTones where the mean is no dark tone.
size_t tone_of(double mean) {
  const double tone = std::round(mean);
  return tone >= 0 && tone < kDarkTones ? static_cast<size_t>(tone) : kDarkTones;
}

void add_block(const Block& block, Tones& tones) {
  if (block.zeros[0] + block.zeros[1] == 2 * kHalfPixels) return;
  const size_t tone = tone_of((block.sum[0] + block.sum[1]) / (2 * kHalfPixels));
  if (tone < kDarkTones) ++tones.blocks[tone];
  for (int32_t half = 0; half < 2; ++half) {
    const double mean = block.sum[half] / kHalfPixels;
    const size_t at = tone_of(mean);
    if (at == kDarkTones) continue;
    tones.halves[at].push_back({block.squares[half] / kHalfPixels - mean * mean,
                                block.sum[1 - half] / kHalfPixels,
                                block.zeros[1 - half] / kHalfPixels});
  }
}

void add_block(const SampleTile& tile, int32_t x, int32_t y, int32_t channels, End from,
               Tones& tones) {
  Block blocks[kMaxChannels];
  const auto& plane = tile.plane[0];
  for (int32_t j = y; j < y + kDarkSide; ++j) {
    for (int32_t i = x; i < x + kDarkSide; ++i) {
      const size_t at = static_cast<size_t>(j) * tile.width + i;
      Rgb rgb{plane[0][at], 0, 0};
      if (channels == 3) rgb = rgb_from_yuv({plane[0][at], plane[1][at], plane[2][at]});
      const float values[] = {rgb.r, rgb.g, rgb.b};
      for (int32_t c = 0; c < channels; ++c) {
        const double value = values[c];
        blocks[c].add((i + j) % 2, from == End::kBlack ? value : kWhite - value);
      }
    }
  }
  for (int32_t c = 0; c < channels; ++c) add_block(blocks[c], tones);
}

// Texture mixes tones: of each tone the calmer part of the halves counts.
DarkTone calmest(std::vector<Half>& halves) {
  constexpr double kShare = 0.3;
  DarkTone tone;
  tone.halves = static_cast<int64_t>(kShare * static_cast<double>(halves.size()));
  if (tone.halves == 0) return tone;
  std::nth_element(halves.begin(), halves.begin() + tone.halves - 1, halves.end(),
                   [](const Half& a, const Half& b) { return a.variance < b.variance; });
  for (const Half& half : std::span(halves).first(static_cast<size_t>(tone.halves))) {
    tone.mean += half.mean / static_cast<double>(tone.halves);
    tone.zeros += half.zeros / static_cast<double>(tone.halves);
  }
  return tone;
}

void measure(Part& part, End from) {
  const SampleTile& tile = *part.tile;
  for (int32_t y = 0; y + kDarkSide <= tile.height; y += kDarkSide) {
    for (int32_t x = 0; x + kDarkSide <= tile.width; x += kDarkSide) {
      if (count_state(tile, x, y, kDarkSide, kInvalid) > 0) continue;
      add_block(tile, x, y, part.channels, from, part.tones);
    }
  }
}

// In the parts' order, whoever measured them.
DarkTone together(const std::vector<Part>& parts, size_t tone) {
  std::vector<Half> halves;
  int64_t blocks = 0;
  for (const Part& part : parts) {
    const std::vector<Half>& more = part.tones.halves[tone];
    halves.insert(halves.end(), more.begin(), more.end());
    blocks += part.tones.blocks[tone];
  }
  DarkTone all = calmest(halves);
  all.blocks = blocks;
  return all;
}

}  // namespace

DarkTones measure_dark_tones(std::span<const Sample> samples, End from, ThreadPool& pool) {
  std::vector<Part> parts;
  for (const Sample& sample : samples) {
    for (const SampleTile& tile : sample.tiles) parts.push_back({&tile, sample.channels, {}});
  }
  pool.parallel_for(static_cast<int32_t>(parts.size()),
                    [&](int32_t i, int32_t) { measure(parts[static_cast<size_t>(i)], from); });
  DarkTones dark;
  pool.parallel_for(kDarkTones, [&](int32_t t, int32_t) {
    const auto tone = static_cast<size_t>(t);
    dark[tone] = together(parts, tone);
  });
  return dark;
}

}  // namespace grainless
