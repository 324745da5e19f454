// SPDX-License-Identifier: MIT
#include "curve.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "corner_gain.h"
#include "engine/boundary/pixel_math.h"
#include "engine/boundary/status.h"
#include "engine/progress.h"
#include "engine/sentence.h"
#include "flat_blocks.h"
#include "graphic.h"
#include "sample.h"

namespace grainless {
namespace {

constexpr int32_t kLumaBlock = 16, kChromaBlock = 32;
constexpr int32_t kFewestBlocks = 8;
constexpr int64_t kFewestPixels = 256;

constexpr double kFlattest = 0.1;     // share of a tone's blocks
constexpr double kPercentile = 0.3;   // of their variances: texture makes outliers upwards
constexpr double kDeviate = -0.5244;  // normal deviate of that percentile

// An area isn't flat when its gradients prefer one direction, or its blocks differ more than noise
// does: white noise shows 1.3 in 8 x 8 pixels, a camera's up to 1.8.
constexpr double kMostAnisotropy = 0.45;
constexpr double kMostSpread = 2.2;  // of a block's sigma, 90th over 10th percentile

Rect rect_of(const ConstImage& image, const NoiseArea& area) {
  return area.rect.empty() ? image.rect : area.rect;
}

int64_t count_pixels(const Rect& rect, const NoiseArea& area) {
  if (area.selected == nullptr) return rect.area();
  int64_t count = 0;
  for (int32_t y = 0; y < rect.height; ++y) {
    const uint8_t* row = area.selected + y * area.selected_row_bytes;
    count += rect.width - std::count(row, row + rect.width, uint8_t{0});
  }
  return count;
}

Sample sample_of(const ConstImage& image, const NoiseArea& area, ThreadPool& pool,
                 const Callbacks& callbacks) {
  const Rect rect = rect_of(image, area);
  if (!image.rect.contains(rect)) {
    throw Error(ErrorCode::kBadInput, sentence("the selected area is not in the image"));
  }
  ConstImage part{image.format, rect.width, rect.height, {0, 0, rect.width, rect.height}};
  part.data = pixel_at(image, rect.x, rect.y);
  part.row_bytes = image.row_bytes;
  Sample sample = take_sample(part, pool, callbacks);
  if (area.selected != nullptr) keep_selected(sample, area.selected, area.selected_row_bytes);
  return sample;
}

// Luma of a grey pixel / its brightness.
double luma_scale(int32_t channels) {
  return channels == 3 ? std::sqrt(3.0) : 1.0;
}

// A quantile of the variance measured in `freedom` samples of white noise of variance 1 (Wilson and
// Hilferty), by its normal deviate.
double variance_quantile(double freedom, double deviate) {
  const double v = 2 / (9 * freedom);
  return std::pow(1 - v + deviate * std::sqrt(v), 3);
}

double block_freedom(int32_t side) {
  return 1.0 * side * side - 6;  // a quadratic surface was subtracted
}

TonePoint measure_tone(std::vector<FlatBlock>& blocks, int32_t side, double scale) {
  std::stable_sort(blocks.begin(), blocks.end(), [](const FlatBlock& a, const FlatBlock& b) {
    return a.structure < b.structure;
  });
  const size_t flat = std::max<size_t>(
      kFewestBlocks, static_cast<size_t>(kFlattest * static_cast<double>(blocks.size())));
  std::vector<float> variances;
  double brightness = 0;
  for (size_t i = 0; i < flat; ++i) {
    variances.push_back(blocks[i].variance[0]);
    brightness += blocks[i].brightness / scale;
  }
  std::sort(variances.begin(), variances.end());
  const double low = variances[static_cast<size_t>(kPercentile * static_cast<double>(flat - 1))];
  return {static_cast<float>(brightness / static_cast<double>(flat)),
          static_cast<float>(std::sqrt(low / variance_quantile(block_freedom(side), kDeviate))),
          static_cast<int32_t>(flat)};
}

ToneCurve measure_tones(const Sample& sample, int32_t channel, double lift, ThreadPool& pool) {
  const int32_t side = channel == 0 ? kLumaBlock : kChromaBlock;
  const double scale = luma_scale(sample.channels);
  std::vector<FlatBlock> tones[kCurveTones];
  for (const FlatBlock& block : measure_blocks(sample, channel, side, 1, pool)) {
    const double tone = std::floor(block.brightness / scale * kCurveTones / 256);
    tones[static_cast<int32_t>(std::clamp(tone, 0.0, kCurveTones - 1.0))].push_back(block);
  }
  ToneCurve curve;
  for (std::vector<FlatBlock>& blocks : tones) {
    if (blocks.size() < kFewestBlocks) continue;
    TonePoint point = measure_tone(blocks, side, scale);
    point.sigma *= static_cast<float>(lift);
    curve.point[curve.count++] = point;
  }
  return curve;
}

// The sampled pixels that take part, their mean luma, and how many of them are clipped.
struct Census {
  int64_t valid = 0, clipped = 0;
  double luma = 0;
};

Census take_census(const Sample& sample) {
  Census census;
  for (const SampleTile& tile : sample.tiles) {
    for (size_t i = 0; i < tile.state.size(); ++i) {
      if ((tile.state[i] & kInvalid) != 0) continue;
      ++census.valid;
      census.clipped += (tile.state[i] & kClipped) != 0 ? 1 : 0;
      census.luma += tile.plane[0][0][i];
    }
  }
  if (census.valid > 0) census.luma /= static_cast<double>(census.valid);
  return census;
}

// How much stronger luma's gradients are in one direction than in the other: 0 for noise, 1 for
// parallel stripes.
double anisotropy(const Sample& sample) {
  double xx = 0, xy = 0, yy = 0;
  for (const SampleTile& tile : sample.tiles) {
    const float* luma = tile.plane[0][0].data();
    for (int32_t y = 1; y + 1 < tile.height; ++y) {
      for (int32_t x = 1; x + 1 < tile.width; ++x) {
        if (count_state(tile, x - 1, y - 1, 3, kInvalid) != 0) continue;
        const float* at = luma + static_cast<size_t>(y) * tile.width + x;
        const double dx = at[1] - at[-1], dy = at[tile.width] - at[-tile.width];
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
      }
    }
  }
  const double sum = xx + yy;
  return sum > 0 ? std::hypot(xx - yy, 2 * xy) / sum : 0.0;
}

// One channel's variances in the largest blocks, up to `side`, of which there are enough, sorted.
// `side` becomes theirs.
std::vector<float> area_variances(const Sample& sample, int32_t channel, int32_t& side,
                                  ThreadPool& pool) {
  std::vector<float> variances;
  for (; side >= 8; side /= 2) {
    variances.clear();
    for (const FlatBlock& block : measure_blocks(sample, channel, side, 1, pool)) {
      variances.push_back(block.variance[0]);
    }
    if (variances.size() >= kFewestBlocks) break;
  }
  side = std::max(side, 8);
  std::sort(variances.begin(), variances.end());
  return variances;
}

double percentile(const std::vector<float>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

// Blocks that merely repeat their pixels hold no noise, and are none of measure_blocks'.
bool is_drawn(const Sample& sample) {
  int64_t valid = 0, repeated = 0;
  for (const SampleTile& tile : sample.tiles) {
    for (uint8_t state : tile.state) {
      if ((state & kInvalid) != 0) continue;
      ++valid;
      repeated += (state & kRepeated) != 0 ? 1 : 0;
    }
  }
  return 5 * repeated >= 4 * valid && !is_mounted(sample);
}

}  // namespace

NoiseCurve measure_noise_curve(const ConstImage& image, const NoiseArea& area,
                               const PictureNoise& model, ThreadPool& pool,
                               const Callbacks& callbacks) {
  Sample sample = sample_of(image, area, pool, callbacks);
  if (model.corners.enabled != 0) {
    const Rect rect = rect_of(image, area);
    GainField field = field_of(model.corners, image.width, image.height);
    field.centre_x -= static_cast<float>(rect.x);
    field.centre_y -= static_cast<float>(rect.y);
    take_gain(field, sample, pool);
  }
  NoiseCurve curve;
  curve.channels = sample.channels;
  for (int32_t c = 0; c < sample.channels; ++c) {
    throw_if_cancelled(callbacks);
    callbacks.report((c + 1.0) / (sample.channels + 1));
    // Noise of luma that needs no more strength than it has was not cleaned, in flat blocks
    // neither.
    const bool cleaned = !model.white[c] && model.strength[0] != 1;
    curve.channel[c] = measure_tones(sample, c, cleaned ? kFlatShare : 1.0, pool);
  }
  callbacks.report(1.0);
  return curve;
}

AreaNoise measure_area_noise(const ConstImage& image, const NoiseArea& area, ThreadPool& pool,
                             const Callbacks& callbacks) {
  const Sample sample = sample_of(image, area, pool, callbacks);
  const Census census = take_census(sample);
  AreaNoise noise;
  noise.channels = sample.channels;
  noise.pixels = count_pixels(rect_of(image, area), area);
  noise.brightness = static_cast<float>(census.luma / luma_scale(sample.channels));
  if (std::min(noise.pixels, census.valid) < kFewestPixels) return noise;
  if (is_drawn(sample)) {
    noise.verdict = 2 * census.clipped > census.valid ? AreaVerdict::kClipped : AreaVerdict::kGood;
    return noise;
  }
  for (int32_t c = 0; c < sample.channels; ++c) {
    throw_if_cancelled(callbacks);
    int32_t side = c == 0 ? kLumaBlock : kChromaBlock;
    const std::vector<float> variances = area_variances(sample, c, side, pool);
    if (variances.size() < kFewestBlocks) {
      noise.verdict =
          2 * census.clipped > census.valid ? AreaVerdict::kClipped : AreaVerdict::kTooSmall;
      return noise;
    }
    const double median = percentile(variances, 0.5);
    noise.sigma[c] =
        static_cast<float>(std::sqrt(median / variance_quantile(block_freedom(side), 0)));
    if (c > 0) continue;
    const double low = percentile(variances, 0.1), high = percentile(variances, 0.9);
    const bool flat =
        anisotropy(sample) <= kMostAnisotropy && high <= kMostSpread * kMostSpread * low;
    noise.verdict = flat ? AreaVerdict::kGood : AreaVerdict::kNotFlat;
  }
  callbacks.report(1.0);
  return noise;
}

}  // namespace grainless
