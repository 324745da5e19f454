// SPDX-License-Identifier: MIT
#include "still_noise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common_blocks.h"
#include "layer_pairs.h"
#include "layer_tones.h"
#include "pair_blocks.h"
#include "square_blocks.h"

namespace grainless {
namespace {

// What pairs of layers differ by, halved: the variance of the noise where they are still. Of all
// blocks, those of tones whose blocks differ alike.
struct Difference {
  double variance[kSampleLevels][kMaxChannels] = {};
  double blocks = 0, steady = 0;
};

Difference difference_of(const std::vector<LayerPair>& pairs, int32_t channels) {
  constexpr double kSteady = 1.35;
  Difference result;
  for (const LayerPair& pair : pairs) {
    const Tones tones = tones_of(pair, [](const PairBlock&) { return true; });
    for (const Blocks& blocks : tones.blocks) {
      const auto count = static_cast<double>(blocks.size());
      result.blocks += count;
      if (!is_steady(blocks, kSteady)) continue;
      result.steady += count;
      for (int32_t l = 0; l < kSampleLevels; ++l) {
        for (int32_t c = 0; c < channels; ++c) {
          result.variance[l][c] += count * quantile_of(blocks, l, c, 0.5);
        }
      }
    }
  }
  for (auto& level : result.variance) {
    for (double& variance : level) variance /= std::max(1.0, result.steady);
  }
  return result;
}

// Motion goes on from layer to layer.
bool is_noise(const Difference& near, const Difference& far) {
  constexpr double kSteadyShare = 0.75, kMostFurther = 1.08;
  const double luma = near.variance[0][0];
  return near.steady >= kSteadyShare * near.blocks && luma > 0 &&
         (far.steady == 0 || far.variance[0][0] <= kMostFurther * luma) &&
         near.variance[2][0] <= kMostAtQuarter * luma;
}

// No noise is stronger than what it makes still layers differ by: more was texture, and how much a
// camera had smoothed it was read from that.
void limit_sigma(const LayerDifference& between, PictureNoise& noise) {
  constexpr float kClearly = 1.1f;
  if (noise.sigma[0][0] > kClearly * between.sigma[0][0]) {
    std::fill_n(noise.strength, noise.channels, 1.0f);
  }
  for (int32_t c = 0; c < noise.channels; ++c) {
    for (int32_t l = 0; l < std::min(noise.levels, kSampleLevels); ++l) {
      noise.sigma[l][c] = std::min(noise.sigma[l][c], between.sigma[l][c]);
    }
  }
}

// Layers that stand still differ by their noise, however much like texture each layer's may look:
// their differences are no larger between layers further apart (of two layers: are even over the
// picture) and fall with resolution.
void measure_still(const std::vector<LayerPair>& near, const std::vector<LayerPair>& far,
                   NoiseModel& noise) {
  const Difference difference = difference_of(near, noise.channels);
  noise.stack.still = std::none_of(near.begin(), near.end(), has_moved) &&
                      is_noise(difference, difference_of(far, noise.channels));
  // Of sigma. A sure measurement stands, up to where tones differ by more than measure_tones()
  // takes.
  const bool sure = noise.confidence == Confidence::kMeasured;
  const double most = sure ? std::sqrt(kMostVariance) : 1.1;
  const auto is_more = [&](int32_t c) {
    const double known = most * noise.sigma[0][c];
    return difference.variance[0][c] > known * known;
  };
  // What is not sure is the little that harms nothing, of each channel.
  const bool more = is_more(0) || (!sure && noise.channels == 3 && (is_more(1) || is_more(2)));
  if (!noise.stack.still || !more) return;
  noise.levels = kSampleLevels;
  noise.confidence = Confidence::kMeasured;
  for (int32_t c = 0; c < noise.channels; ++c) {
    for (int32_t l = 0; l < kSampleLevels; ++l) {
      noise.sigma[l][c] = static_cast<float>(std::sqrt(difference.variance[l][c]));
    }
    if (!sure) noise.strength[c] = 1;
  }
}

// Whether layers may hold what is left, by its variance in the usual block: those that are unsure
// and found less, or where it is clearly more than sharp pictures leave that moved by parts of a
// pixel (up to 1.4). Those that seem to hold next to nothing may where most stand still: what is
// drawn and moves leaves as much.
bool may_hide(const PictureNoise& noise, double usual, const std::vector<LayerPair>& pairs) {
  constexpr double kClear = 3.5;
  const double luma = noise.sigma[0][0];
  const bool clear = usual > kClear * kClear;
  if (noise.confidence == Confidence::kUnsure) return clear || luma * luma < usual;
  return noise.confidence == Confidence::kLittle && clear && luma > 0 && mostly_still(pairs);
}

// Whether noise is most of what layers of one scene differ by, however they move: what the weakest
// mixtures hold of each block, and no more than the least that is left in most places.
bool noise_prevails(const CommonBlocks& common, const Blocks& least) {
  constexpr double kLeastShare = 0.5;
  if (!common.same_scene || least.empty()) return false;
  const double usual = left_of(least, 0, 0, 0.5);
  std::vector<double> shares;
  for (const PairBlock& block : common.all.blocks) {
    const double whole = block.variance[0][0];
    shares.push_back(whole > 0 ? std::min(usual, block.left.variance[0][0]) / whole : 0);
  }
  return !shares.empty() && median(std::move(shares)) > kLeastShare;
}

void take_noise(const PictureNoise& from, PictureNoise& noise) {
  noise.levels = from.levels;
  noise.confidence = from.confidence;
  for (int32_t c = 0; c < noise.channels; ++c) {
    for (int32_t l = 0; l < from.levels; ++l) noise.sigma[l][c] = from.sigma[l][c];
    noise.white[c] = from.white[c];
    noise.strength[c] = from.strength[c];
  }
}

// What is left of layers' differences when displacements are undone, or of all layers without what
// may be motion, is the most that noise can be, and all of it where everything is displaced alike,
// or noise prevails.
void measure_left(const Pairs& compared, const Comparison& comparison, const SureLayers& sure,
                  PictureNoise& noise) {
  constexpr double kClearly = 1.1, kMostWhite = 0.33;
  constexpr double kMostChroma = 1.25;  // of luma's sigma: a camera's colour is hardly noisier
  const double luma = noise.sigma[0][0];
  const std::vector<LayerPair>& near = compared.near;
  std::vector<LayerPair> pairs = near;
  pairs.insert(pairs.end(), compared.far.begin(), compared.far.end());
  std::vector<LayerPair> all = pairs;
  Blocks blocks = calmest_blocks(pairs, luma);
  bool together = move_together(near);
  if (!together && noise.confidence != Confidence::kMeasured) {
    const CommonBlocks common =
        compare_all_layers(comparison.samples, comparison.pool, comparison.callbacks);
    all.push_back(common.all);
    const Blocks least = calmest_blocks(all, luma);
    together = noise_prevails(common, least);
    if (together) blocks = least;
  }
  if (blocks.empty()) return;
  const auto sharper = [](const LayerPair& pair) { return pair.differs_in_sharpness(); };
  const double usual = left_of(blocks, 0, 0, 0.5);
  const bool hides = together && std::none_of(near.begin(), near.end(), sharper) &&
                     usual <= sure.most * sure.most && may_hide(noise, usual, pairs) &&
                     is_left_noise(blocks);
  // Where most layers are sure and one is not, what they say, or the usual block if that holds
  // more.
  const PictureNoise* of_most = sure.of_most;
  const bool said = hides && of_most != nullptr && usual < std::pow(of_most->sigma[0][0], 2);
  if (said) take_noise(*of_most, noise);
  const bool hidden = hides && !said;
  const double share_of_blocks = hidden && of_most != nullptr ? 0.5 : kMostBlocks;
  for (int32_t c = 0; c < noise.channels; ++c) {
    const double sigma = noise.sigma[0][c];
    const double most = kClearly * kClearly * left_of(blocks, 0, c, kMostBlocks);
    if (sigma * sigma <= most && !hidden) continue;
    double variance[kSampleLevels];
    const double all = left_of(blocks, 0, c, share_of_blocks);
    const double plausible = hidden && c > 0 ? std::pow(kMostChroma * noise.sigma[0][0], 2) : all;
    const double share = all > plausible ? plausible / all : 1;  // all may be 0
    for (int32_t l = 0; l < kSampleLevels; ++l) {
      variance[l] = share * left_of(blocks, l, c, share_of_blocks);
      noise.sigma[l][c] = static_cast<float>(std::sqrt(variance[l]));
    }
    noise.levels = kSampleLevels;
    noise.strength[c] = 1;
    noise.white[c] = variance[1] < kMostWhite * variance[0];
    if (together && c == 0) noise.confidence = Confidence::kMeasured;
  }
}

// What flat blocks of each tone that stand still differ by: a motion would hardly show there, and a
// change of brightness at quarter resolution as well. Tones without such blocks have that of the
// next darker one that has some.
void measure_flat(const std::vector<LayerPair>& near, double luma, LayerDifference& between) {
  constexpr size_t kFlattest = 4;  // a quarter of them
  std::vector<double> found[kNoiseTones];
  for (const LayerPair& pair : near) {
    const Tones tones = tones_of(pair, [](const PairBlock& block) {
      return block.state == SquareState::kStill || block.state == SquareState::kShaken;
    });
    for (int32_t t = 0; t < kNoiseTones; ++t) {
      Blocks flat = tones.blocks[t];
      if (flat.size() < kFewestBlocks) continue;
      flat.resize(std::max(kFewestBlocks, flat.size() / kFlattest));
      const double fine = quantile_of(flat, 0, 0, 0.5);
      if (quantile_of(flat, 2, 0, 0.5) <= kMostAtQuarter * fine) found[t].push_back(fine / luma);
    }
  }
  int32_t known = -1;
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    if (found[t].empty()) {
      if (known >= 0) between.flat[t] = between.flat[known];
      continue;
    }
    between.flat[t] = static_cast<float>(median(std::move(found[t])));
    if (known < 0) std::fill_n(between.flat, t, between.flat[t]);
    known = t;
  }
}

// What nine tenths of the still blocks keep to.
void measure_between(const std::vector<LayerPair>& near, NoiseModel& noise) {
  Blocks all, of_tone[kNoiseTones];
  for (const LayerPair& pair : near) {
    for (const PairBlock& block : pair.blocks) {
      if (block.state != SquareState::kStill && block.state != SquareState::kShaken) continue;
      all.push_back(&block);
      of_tone[block.tone].push_back(&block);
    }
  }
  if (all.empty()) return;  // those that stand still lie two apart
  const double luma = quantile_of(all, 0, 0, kMostBlocks);
  if (luma <= 0) return;
  LayerDifference& between = noise.stack.between;
  between.known = true;
  for (int32_t l = 0; l < kSampleLevels; ++l) {
    for (int32_t c = 0; c < noise.channels; ++c) {
      between.sigma[l][c] = static_cast<float>(std::sqrt(quantile_of(all, l, c, kMostBlocks)));
    }
  }
  std::vector<double> found[kNoiseTones];
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    if (of_tone[t].size() < kFewestBlocks) continue;
    found[t].push_back(quantile_of(of_tone[t], 0, 0, kMostBlocks) / luma);
  }
  fill_gaps(found, between.tones);
  measure_flat(near, luma, between);
  limit_sigma(between, noise);
}

// Layers that surely show noise speak for those that look the same and don't dare, up to what is
// left in most places when displacements are undone.
void take_sure(const Pairs& pairs, const PictureNoise& sure, PictureNoise& noise) {
  std::vector<LayerPair> all = pairs.near;
  all.insert(all.end(), pairs.far.begin(), pairs.far.end());
  const Blocks blocks = calmest_blocks(all, sure.sigma[0][0]);
  if (blocks.empty()) return;
  const PictureNoise unsure = noise;
  take_noise(sure, noise);
  for (int32_t c = 0; c < noise.channels; ++c) {
    const double left = std::sqrt(left_of(blocks, 0, c, 0.5)), sigma = sure.sigma[0][c];
    const double most = std::max<double>(unsure.sigma[0][c], left);
    const auto share = static_cast<float>(sigma > most ? most / sigma : 1.0);
    for (int32_t l = 0; l < sure.levels; ++l) noise.sigma[l][c] *= share;
  }
}

// Variance of luma that nine tenths of a layer's blocks keep to: of the layer that has least.
double variance_of_calmest_layer(const std::vector<Sample>& samples) {
  constexpr int32_t kSide = kLeftSide, kPixels = kSide * kSide;
  double least = HUGE_VAL;
  std::vector<float> values(kPixels), variances;
  for (const Sample& sample : samples) {
    variances.clear();
    for (const SampleTile& tile : sample.tiles) {
      for (int32_t y = 0; y + kSide <= tile.height; y += kSide) {
        for (int32_t x = 0; x + kSide <= tile.width; x += kSide) {
          if (count_state(tile, x, y, kSide, kInvalid) > 0) continue;
          gather(tile, {0, 0, x, y}, kSide, values);
          float mean = 0;
          variances.push_back(plain_variance(values, kPixels, mean));
        }
      }
    }
    if (variances.empty()) continue;
    const double place = kMostBlocks * static_cast<double>(variances.size() - 1);
    const auto at = variances.begin() + static_cast<ptrdiff_t>(place);
    std::nth_element(variances.begin(), at, variances.end());
    least = std::min<double>(least, *at);
  }
  return least;
}

// What layers differ by is not all noise where that is clearly more than one of them varies by at
// all: they show different things.
bool differ_by_more_than_noise(const std::vector<Sample>& samples, const NoiseModel& noise) {
  constexpr double kClearly = 2.0;
  const double sigma = std::max(noise.sigma[0][0], noise.stack.between.sigma[0][0]);
  return sigma * sigma > kClearly * variance_of_calmest_layer(samples);
}

// By what layers differ by.
void measure_differences(const std::vector<Sample>& samples, const SureLayers& sure,
                         ThreadPool& pool, const Callbacks& callbacks, NoiseModel& noise) {
  const float found = noise.sigma[0][0];
  const double known = found * found;
  const std::vector<bool> squares = still_squares(samples);
  const Comparison comparison{samples, known, squares, pool, callbacks};
  Pairs pairs = compare_all(comparison, false);
  const auto repeats = [](const LayerPair& pair) { return pair.repeat_in_part(); };
  if (std::any_of(pairs.near.begin(), pairs.near.end(), repeats)) return;
  measure_still(pairs.near, pairs.far, noise);
  // What drifts slowly stands still from layer to layer only, which shows its noise all the same.
  if (std::any_of(pairs.ends.begin(), pairs.ends.end(), has_moved)) noise.stack.still = false;
  measure_left(pairs, comparison, sure, noise);
  if (sure.for_all != nullptr && !noise.stack.still && noise.confidence != Confidence::kMeasured) {
    take_sure(pairs, *sure.for_all, noise);
  }
  // Of a series of focus each layer's own noise, where it is known, says best what is more than it.
  const bool sharper = differ_in_sharpness(pairs);
  const int32_t reach =
      sharper && surely_white(noise) ? 0 : reach_of(comparison, noise.stack.still, pairs);
  if (reach > 0) measure_between(pairs.near, noise);
  LayerDifference& between = noise.stack.between;
  between.reach = reach;
  between.in_sharpness = sharper;
  measure_all_tones(pairs.near, found, noise);
}

}  // namespace

void measure_layers(const std::vector<Sample>& samples, const SureLayers& sure, ThreadPool& pool,
                    const Callbacks& callbacks, NoiseModel& noise) {
  if (samples.size() < 2) return;
  NoiseModel measured = noise;
  measure_differences(samples, sure, pool, callbacks, measured);
  if (!differ_by_more_than_noise(samples, measured)) noise = measured;
}

double variance_left(const std::vector<Sample>& samples, ThreadPool& pool,
                     const Callbacks& callbacks) {
  const std::vector<LayerPair> pairs =
      compare_apart({samples, 0, {}, pool, callbacks}, 1, Apart::kNext);
  const Blocks blocks = calmest_blocks(pairs, 0);
  return blocks.empty() ? HUGE_VAL : left_of(blocks, 0, 0, 0.5);
}

}  // namespace grainless
