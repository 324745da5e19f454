// SPDX-License-Identifier: MIT
#include "still_noise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tone_profile.h"

namespace grainless {
namespace {

constexpr int32_t kSide = 16;       // of a block, pixels
constexpr size_t kFewest = 8;       // blocks of a tone
constexpr double kFlattest = 0.25;  // share of a tone's blocks
// Variances over the noise's, of flat blocks, that noise may have. Where layers have moved or
// brightness has changed they show more, and more at half resolution than the noise would.
constexpr double kLeast = 0.5, kMost = 4.0, kCoarser = 1.3;

struct Block {
  double structure;    // variance of luma's means of 4 x 4 pixels
  double variance[2];  // of the difference, halved, over the noise's: mean of the channels, a level
};

// The block's mean luma, and how much its parts differ.
double tone_of(const SampleTile& a, const SampleTile& b, int32_t x, int32_t y, double& structure) {
  const int32_t width = a.width_at(2), side = kSide / 4;
  double sum = 0, squares = 0;
  for (int32_t j = y / 4; j < y / 4 + side; ++j) {
    for (int32_t i = x / 4; i < x / 4 + side; ++i) {
      const size_t at = static_cast<size_t>(j) * width + i;
      const double value = 0.5 * (a.plane[2][0][at] + b.plane[2][0][at]);
      sum += value;
      squares += value * value;
    }
  }
  const double count = side * side;
  structure = squares / count - sum / count * (sum / count);
  return sum / count;
}

double variance_of(const SampleTile& a, const SampleTile& b, int32_t level, int32_t channel,
                   int32_t x, int32_t y) {
  const int32_t side = kSide >> level, width = a.width_at(level);
  double sum = 0;
  for (int32_t j = y >> level; j < (y >> level) + side; ++j) {
    for (int32_t i = x >> level; i < (x >> level) + side; ++i) {
      const size_t at = static_cast<size_t>(j) * width + i;
      const double difference = a.plane[level][channel][at] - b.plane[level][channel][at];
      sum += difference * difference;
    }
  }
  return sum / (2.0 * side * side);
}

double median_of_flattest(const std::vector<Block>& blocks, int32_t level) {
  const size_t flat =
      std::max(kFewest, static_cast<size_t>(kFlattest * static_cast<double>(blocks.size())));
  std::vector<double> variances;
  for (size_t i = 0; i < flat; ++i) variances.push_back(blocks[i].variance[level]);
  std::sort(variances.begin(), variances.end());
  return variances[flat / 2];
}

struct Tones {
  std::vector<Block> blocks[kNoiseTones];
};

Tones blocks_of(const Sample& a, const Sample& b, const NoiseModel& noise) {
  const double span = 256 * (noise.channels == 3 ? std::sqrt(3.0) : 1.0);
  Tones tones;
  for (size_t t = 0; t < std::min(a.tiles.size(), b.tiles.size()); ++t) {
    const SampleTile &one = a.tiles[t], &other = b.tiles[t];
    for (int32_t y = 0; y + kSide <= one.height; y += kSide) {
      for (int32_t x = 0; x + kSide <= one.width; x += kSide) {
        if (count_state(one, x, y, kSide, kInvalid) > 0) continue;
        if (count_state(other, x, y, kSide, kInvalid) > 0) continue;
        Block block{};
        const double tone = tone_of(one, other, x, y, block.structure) / span * kNoiseTones;
        for (int32_t l = 0; l < 2; ++l) {
          for (int32_t c = 0; c < noise.channels; ++c) {
            const double sigma = noise.sigma[l][c];
            block.variance[l] +=
                variance_of(one, other, l, c, x, y) / (sigma * sigma * noise.channels);
          }
        }
        const auto index = static_cast<int32_t>(std::clamp(tone, 0.0, kNoiseTones - 1.0));
        tones.blocks[index].push_back(block);
      }
    }
  }
  for (std::vector<Block>& blocks : tones.blocks) {
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const Block& x, const Block& y) { return x.structure < y.structure; });
  }
  return tones;
}

// Tones that few blocks have, or that moved, take what those beside them show.
void fill_gaps(const std::vector<double>* found, float* tones) {
  double known[kNoiseTones];
  int32_t last = -1;
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    if (found[t].empty()) continue;
    std::vector<double> sorted = found[t];
    std::sort(sorted.begin(), sorted.end());
    known[t] = std::max(kLeast, sorted[(sorted.size() - 1) / 2]);
    for (int32_t i = last + 1; i <= t; ++i) {
      const double part = last < 0 ? 1.0 : static_cast<double>(i - last) / (t - last);
      tones[i] = static_cast<float>(part * known[t] + (1 - part) * (last < 0 ? 0 : known[last]));
    }
    last = t;
  }
  for (int32_t i = last + 1; i < kNoiseTones && last >= 0; ++i) {
    tones[i] = static_cast<float>(known[last]);
  }
}

}  // namespace

void measure_tones(const std::vector<Sample>& samples, NoiseModel& noise) {
  for (int32_t c = 0; c < noise.channels; ++c) {
    if (noise.levels < 2 || noise.sigma[0][c] <= 0 || noise.sigma[1][c] <= 0) return;
  }
  std::vector<double> found[kNoiseTones];
  double share[kNoiseTones] = {};
  for (size_t i = 1; i < samples.size(); ++i) {
    const Tones tones = blocks_of(samples[i - 1], samples[i], noise);
    for (int32_t t = 0; t < kNoiseTones; ++t) {
      const std::vector<Block>& blocks = tones.blocks[t];
      share[t] += static_cast<double>(blocks.size());
      if (blocks.size() < kFewest) continue;
      const double fine = median_of_flattest(blocks, 0), half = median_of_flattest(blocks, 1);
      if (fine > kMost || half > kCoarser * std::max(1.0, fine)) continue;
      found[t].push_back(fine);
    }
  }
  fill_gaps(found, noise.tones);
  double sum = 0, squares = 0;
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    sum += share[t] * noise.tones[t];
    squares += share[t] * noise.tones[t] * noise.tones[t];
  }
  if (sum > 0) noise.unevenness = static_cast<float>(std::sqrt(std::max(1.0, squares / sum)));
}

NoiseModel evened_noise(const NoiseModel& noise) {
  constexpr double kClearly = 1.15;  // strongest tone's sigma over the weakest's
  const auto [least, most] = std::minmax_element(noise.tones, noise.tones + kNoiseTones);
  if (!noise.range.is_usual() || !(*most > kClearly * kClearly * *least)) return noise;
  // A tone's variance is that of its middle.
  const auto slope = [&](double brightness) {
    const double at = std::clamp(brightness * kNoiseTones / 256 - 0.5, 0.0, kNoiseTones - 1.0);
    const int32_t tone = std::min(static_cast<int32_t>(at), kNoiseTones - 2);
    const double part = at - tone;
    return 1 / std::sqrt((1 - part) * noise.tones[tone] + part * noise.tones[tone + 1]);
  };
  double scale = 0;
  NoiseModel even = noise;
  even.bend = bend_with(slope, scale);
  even.unevenness = 1;
  for (int32_t l = 0; l < even.levels; ++l) {
    for (int32_t c = 0; c < even.channels; ++c) even.sigma[l][c] *= static_cast<float>(scale);
  }
  return even;
}

}  // namespace grainless
