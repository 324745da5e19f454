// SPDX-License-Identifier: MIT
#include "still_noise.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common_blocks.h"
#include "layer_pair.h"
#include "tone_profile.h"

namespace grainless {
namespace {

constexpr size_t kFewest = 8;       // blocks of a tone
constexpr double kFlattest = 0.25;  // share of a tone's blocks
// Variances over the noise's, of flat blocks, that noise may have. Where layers have moved or
// brightness has changed they show more, and more at half resolution than the noise would.
constexpr double kLeast = 0.5, kMost = 4.0, kCoarser = 1.3;

using Blocks = std::vector<const PairBlock*>;

// Over the noise's: mean of the channels that have any.
double relative_variance(const PairBlock& block, int32_t level, const NoiseModel& noise) {
  double sum = 0;
  int32_t noisy = 0;
  for (int32_t c = 0; c < noise.channels; ++c) {
    const double sigma = noise.sigma[level][c];
    if (sigma <= 0) continue;
    sum += block.variance[level][c] / (sigma * sigma);
    ++noisy;
  }
  return noisy > 0 ? sum / noisy : 0;
}

// The blocks of some pairs by tone, the flattest first.
struct Tones {
  Blocks blocks[kNoiseTones];
};

template <typename Wanted>
Tones tones_of(const LayerPair& pair, const Wanted& wanted) {
  Tones tones;
  for (const PairBlock& block : pair.blocks) {
    if (wanted(block)) tones.blocks[block.tone].push_back(&block);
  }
  for (Blocks& blocks : tones.blocks) {
    std::stable_sort(blocks.begin(), blocks.end(), [](const PairBlock* x, const PairBlock* y) {
      return x->structure < y->structure;
    });
  }
  return tones;
}

double median_of_flattest(const Blocks& blocks, int32_t level, const NoiseModel& noise) {
  const size_t flat =
      std::max(kFewest, static_cast<size_t>(kFlattest * static_cast<double>(blocks.size())));
  std::vector<double> variances;
  for (size_t i = 0; i < flat; ++i) {
    variances.push_back(relative_variance(*blocks[i], level, noise));
  }
  std::sort(variances.begin(), variances.end());
  return variances[flat / 2];
}

// The variance that a share of the blocks keeps to.
template <typename Of>
double quantile_of(const Blocks& blocks, int32_t level, int32_t channel, double share,
                   const Of& of) {
  std::vector<double> variances;
  for (const PairBlock* block : blocks) variances.push_back(of(*block)[level][channel]);
  const auto last = static_cast<double>(variances.size() - 1);
  const auto at = variances.begin() + static_cast<ptrdiff_t>(share * last + 0.5);
  std::nth_element(variances.begin(), at, variances.end());
  return *at;
}

double quantile_of(const Blocks& blocks, int32_t level, int32_t channel, double share) {
  return quantile_of(blocks, level, channel, share,
                     [](const PairBlock& block) { return block.variance; });
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

// What pairs of layers differ by, halved: the variance of the noise where they are still. Of all
// blocks, those of tones whose blocks differ alike.
struct Difference {
  double variance[kSampleLevels][kMaxChannels] = {};
  double blocks = 0, steady = 0;
};

// What moves differs by much in some blocks and by little in others; a sensor's noise, by the same
// in all of a tone.
bool is_steady(const Blocks& blocks, double most) {
  if (blocks.size() < kFewest) return false;
  return quantile_of(blocks, 0, 0, 0.75) <= most * quantile_of(blocks, 0, 0, 0.25);
}

// A white sky says how much noise is left there, and nothing of other tones.
bool mostly_clipped(const Blocks& blocks) {
  const auto clipped = std::count_if(blocks.begin(), blocks.end(),
                                     [](const PairBlock* block) { return block->clipped; });
  return 2 * static_cast<size_t>(clipped) > blocks.size();
}

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

// Motion goes on from layer to layer. Pictures have most of their contrast in large features, and
// noise doesn't: what moved, or changed its brightness, shows at quarter resolution.
constexpr double kMostAtQuarter = 0.4;

bool is_noise(const Difference& near, const Difference& far) {
  constexpr double kSteadyShare = 0.75, kMostFurther = 1.08;
  const double luma = near.variance[0][0];
  return near.steady >= kSteadyShare * near.blocks && luma > 0 &&
         (far.steady == 0 || far.variance[0][0] <= kMostFurther * luma) &&
         near.variance[2][0] <= kMostAtQuarter * luma;
}

constexpr double kStillSquares = 0.6;

// Fine patterns that move by whole pixels show no gradient of it. Of noise a displacement leaves
// nearly all.
bool is_displaced(const LayerPair& pair) {
  constexpr double kMostLeft = 0.25;
  std::vector<double> left, whole;
  for (const PairBlock& block : pair.blocks) {
    if (!block.traced) continue;
    left.push_back(block.left.variance[0][0]);
    whole.push_back(block.variance[0][0]);
  }
  return !left.empty() && median(std::move(left)) < kMostLeft * median(std::move(whole));
}

bool is_still(const LayerPair& pair, double share) {
  if (is_displaced(pair)) return false;
  const auto squares = static_cast<double>(pair.still + pair.changed);
  return static_cast<double>(pair.still) >= share * squares;
}

bool mostly_still(const LayerPair& pair) {
  return is_still(pair, kStillSquares);
}

// Fine texture that moves differs as evenly as noise does; what it differs by is explained.
bool has_moved(const LayerPair& pair) {
  constexpr double kMostExplained = 0.3, kMostPixels = 0.4;
  constexpr double kDriftExplained = 0.15, kDriftPixels = 0.8;
  // Too small a picture to tell.
  if (pair.still + pair.changed == 0) return true;
  if (is_displaced(pair)) return true;
  // All of it by a pixel, under noise that explains most of the difference.
  if (pair.together() && pair.share > kDriftExplained && pair.pixels > kDriftPixels) return true;
  return pair.hidden && !mostly_still(pair) && pair.share > kMostExplained &&
         pair.pixels > kMostPixels;
}

// Each pair that tells anything: one layer that shows something else would be averaged into the
// others where it differs by less than their noise.
bool stand_still(const std::vector<LayerPair>& pairs) {
  const auto any = [](const LayerPair& pair) { return pair.still > 0; };
  return std::all_of(pairs.begin(), pairs.end(), mostly_still) &&
         std::any_of(pairs.begin(), pairs.end(), any);
}

// No noise is stronger than what it makes still layers differ by: more was texture, and how much a
// camera had smoothed it was read from that.
void limit_sigma(const LayerDifference& between, NoiseModel& noise) {
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
  noise.still = std::none_of(near.begin(), near.end(), has_moved) &&
                is_noise(difference, difference_of(far, noise.channels));
  // Of sigma. A sure measurement stands, up to where tones differ by more than measure_tones()
  // takes.
  const bool sure = noise.confidence == Confidence::kMeasured;
  const double most = sure ? std::sqrt(kMost) : 1.1;
  const auto is_more = [&](int32_t c) {
    const double known = most * noise.sigma[0][c];
    return difference.variance[0][c] > known * known;
  };
  // What is not sure is the little that harms nothing, of each channel.
  const bool more = is_more(0) || (!sure && noise.channels == 3 && (is_more(1) || is_more(2)));
  if (!noise.still || !more) return;
  noise.levels = kSampleLevels;
  noise.confidence = Confidence::kMeasured;
  for (int32_t c = 0; c < noise.channels; ++c) {
    for (int32_t l = 0; l < kSampleLevels; ++l) {
      noise.sigma[l][c] = static_cast<float>(std::sqrt(difference.variance[l][c]));
    }
    if (!sure) noise.strength[c] = 1;
  }
}

// Of layers that were displaced: what is left of their differences when that is undone.
std::vector<LayerPair> undone(const std::vector<LayerPair>& pairs) {
  std::vector<LayerPair> result = pairs;
  for (LayerPair& pair : result) {
    if (!pair.together()) continue;
    for (PairBlock& block : pair.blocks) {
      if (!block.traced || block.state != SquareState::kChanged) continue;
      block.state = SquareState::kShaken;
      const double* left = &block.left.variance[0][0];
      std::copy(left, left + kSampleLevels * kMaxChannels, &block.variance[0][0]);
    }
  }
  return result;
}

double left_of(const Blocks& blocks, int32_t level, int32_t channel, double share) {
  return quantile_of(blocks, level, channel, share,
                     [](const PairBlock& block) { return block.left.variance; });
}

constexpr double kMostBlocks = 0.9;
// A few tones say little of the others.
constexpr int32_t kFewestTones = 4;

// A pair's blocks whose noise shows when displacements are undone. Where next to nothing is left of
// it, one layer was made of the other.
Blocks traced_blocks(const LayerPair& pair, double sigma) {
  constexpr double kCopied = 0.02;  // of the noise's variance
  Blocks blocks;
  for (const PairBlock& block : pair.blocks) {
    if (!block.traced || block.variance[0][0] <= 0) continue;
    if (block.left.variance[0][0] > kCopied * sigma * sigma) blocks.push_back(&block);
  }
  return blocks;
}

// Those of the pair of which least is left: others have moved in more ways. Of most of the blocks,
// so that they tell of the whole picture.
Blocks calmest_blocks(const std::vector<LayerPair>& pairs, double sigma) {
  std::vector<Blocks> found;
  size_t most = 0;
  for (const LayerPair& pair : pairs) {
    found.push_back(traced_blocks(pair, sigma));
    most = std::max(most, found.back().size());
  }
  Blocks calmest;
  for (Blocks& blocks : found) {
    if (blocks.size() < kFewest || 2 * blocks.size() < most) continue;
    if (calmest.empty() ||
        left_of(blocks, 0, 0, kMostBlocks) < left_of(calmest, 0, 0, kMostBlocks)) {
      calmest = std::move(blocks);
    }
  }
  return calmest;
}

template <typename Value>
double median_of(Blocks::const_iterator first, Blocks::const_iterator end, const Value& value) {
  std::vector<double> values;
  for (auto block = first; block != end; ++block) values.push_back(value((*block)->left));
  return median(std::move(values));
}

// Whether what displacements leave is noise: no change of light, no scattered dots, hardly stronger
// in a few places, which flow, and as strong where the picture is flat, which a displacement that
// was undone but roughly leaves plain.
bool is_left_noise(Blocks blocks) {
  constexpr double kMostKurtosis = 5, kLeastInFlat = 0.6;
  const auto fine = [](const Left& left) { return left.variance[0][0]; };
  const auto quarter = [](const Left& left) { return left.variance[2][0]; };
  const auto middle = blocks.begin() + static_cast<ptrdiff_t>(blocks.size() / 2);
  std::nth_element(
      blocks.begin(), middle, blocks.end(),
      [](const PairBlock* x, const PairBlock* y) { return x->structure < y->structure; });
  const auto first = blocks.begin(), end = blocks.end();
  return median_of(first, end, quarter) < kMostAtQuarter * median_of(first, end, fine) &&
         median_of(
             first, end, [](const Left& left) { return left.kurtosis; }) < kMostKurtosis &&
         left_of(blocks, 0, 0, kMostBlocks) <= kMost * left_of(blocks, 0, 0, 0.5) &&
         median_of(first, middle, fine) > kLeastInFlat * median_of(middle, end, fine);
}

bool mostly_still(const std::vector<LayerPair>& pairs) {
  const auto still = std::count_if(pairs.begin(), pairs.end(),
                                   [](const LayerPair& pair) { return mostly_still(pair); });
  return 2 * static_cast<size_t>(still) >= pairs.size();
}

// Whether layers may hold what is left, by its variance in the usual block: those that are unsure
// and found less, or where it is clearly more than sharp pictures leave that moved by parts of a
// pixel (up to 1.4). Those that seem to hold next to nothing may where most stand still: what is
// drawn and moves leaves as much.
bool may_hide(const NoiseModel& noise, double usual, const std::vector<LayerPair>& pairs) {
  constexpr double kClear = 3.5;
  const double luma = noise.sigma[0][0];
  const bool clear = usual > kClear * kClear;
  if (noise.confidence == Confidence::kUnsure) return clear || luma * luma < usual;
  return noise.confidence == Confidence::kLittle && clear && luma > 0 && mostly_still(pairs);
}

// Whether all that shows a displacement shows the same in each pair: few squares of many pairs tell
// as much as many of one, and none may contradict.
bool move_together(const std::vector<LayerPair>& pairs) {
  LayerPair all;
  size_t more = 0;  // squares beyond the first of a pair, which agrees with itself
  for (const LayerPair& pair : pairs) {
    if (pair.apart()) return false;
    if (pair.sure < 2) continue;
    more += pair.sure - 1;
    all.sure += pair.sure;
    all.alike += pair.alike;
  }
  return more + 1 >= LayerPair::kFewestSure && all.agrees();
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

// What is left of layers' differences when displacements are undone, or of all layers without what
// may be motion, is the most that noise can be, and all of it where everything is displaced alike,
// or noise prevails.
void measure_left(const std::vector<LayerPair>& near, const std::vector<LayerPair>& far,
                  const std::vector<Sample>& samples, NoiseModel& noise) {
  constexpr double kClearly = 1.1, kMostWhite = 0.33;
  constexpr double kMostChroma = 1.25;  // of luma's sigma: a camera's colour is hardly noisier
  const double luma = noise.sigma[0][0];
  std::vector<LayerPair> pairs = near;
  pairs.insert(pairs.end(), far.begin(), far.end());
  std::vector<LayerPair> all = pairs;
  Blocks blocks = calmest_blocks(pairs, luma);
  bool together = move_together(near);
  if (!together && noise.confidence != Confidence::kMeasured) {
    const CommonBlocks common = compare_all_layers(samples);
    all.push_back(common.all);
    const Blocks least = calmest_blocks(all, luma);
    together = noise_prevails(common, least);
    if (together) blocks = least;
  }
  if (blocks.empty()) return;
  const bool hidden =
      together && may_hide(noise, left_of(blocks, 0, 0, 0.5), pairs) && is_left_noise(blocks);
  for (int32_t c = 0; c < noise.channels; ++c) {
    const double sigma = noise.sigma[0][c];
    const double most = kClearly * kClearly * left_of(blocks, 0, c, kMostBlocks);
    if (sigma * sigma <= most && !hidden) continue;
    double variance[kSampleLevels];
    const double all = left_of(blocks, 0, c, kMostBlocks);
    const double plausible = hidden && c > 0 ? std::pow(kMostChroma * noise.sigma[0][0], 2) : all;
    const double share = all > plausible ? plausible / all : 1;  // all may be 0
    for (int32_t l = 0; l < kSampleLevels; ++l) {
      variance[l] = share * left_of(blocks, l, c, kMostBlocks);
      noise.sigma[l][c] = static_cast<float>(std::sqrt(variance[l]));
    }
    noise.levels = kSampleLevels;
    noise.strength[c] = 1;
    noise.white[c] = variance[1] < kMostWhite * variance[0];
    if (together && c == 0) noise.confidence = Confidence::kMeasured;
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
  LayerDifference& between = noise.between;
  between.known = true;
  for (int32_t l = 0; l < kSampleLevels; ++l) {
    for (int32_t c = 0; c < noise.channels; ++c) {
      between.sigma[l][c] = static_cast<float>(std::sqrt(quantile_of(all, l, c, kMostBlocks)));
    }
  }
  std::vector<double> found[kNoiseTones];
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    if (of_tone[t].size() < kFewest) continue;
    found[t].push_back(quantile_of(of_tone[t], 0, 0, kMostBlocks) / luma);
  }
  fill_gaps(found, between.tones);
  limit_sigma(between, noise);
}

// What is measured of one picture is the noise of its flattest and calmest parts; a camera's is
// stronger in some tones than in others. Of the squares that count; tones that none of them has
// stay as they are. Returns how many tell.
template <typename Counts>
int32_t measure_tones(const std::vector<LayerPair>& near, const Counts& counts, NoiseModel& noise) {
  constexpr double kSteady = 1.5;  // a tone's noise is not quite the same in all its blocks
  for (int32_t c = 0; c < noise.channels; ++c) {
    if (noise.levels < 2 || noise.sigma[0][c] <= 0 || noise.sigma[1][c] <= 0) return 0;
  }
  std::vector<double> found[kNoiseTones];
  double share[kNoiseTones] = {};
  bool told[kNoiseTones] = {};
  for (const LayerPair& pair : near) {
    const Tones tones = tones_of(pair, [&](const PairBlock& block) { return counts(block.state); });
    for (int32_t t = 0; t < kNoiseTones; ++t) {
      const Blocks& blocks = tones.blocks[t];
      share[t] += static_cast<double>(blocks.size());
      if (!is_steady(blocks, kSteady)) continue;
      const double fine = median_of_flattest(blocks, 0, noise);
      const double half = median_of_flattest(blocks, 1, noise);
      if (fine > kMost || half > kCoarser * std::max(1.0, fine)) continue;
      found[t].push_back(fine);
      told[t] = told[t] || !mostly_clipped(blocks);
    }
  }
  const auto count = static_cast<int32_t>(std::count(told, told + kNoiseTones, true));
  if (count == 0) return 0;
  fill_gaps(found, noise.tones);
  double sum = 0, squares = 0;
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    sum += share[t] * noise.tones[t];
    squares += share[t] * noise.tones[t] * noise.tones[t];
  }
  if (sum > 0) noise.unevenness = static_cast<float>(std::sqrt(std::max(1.0, squares / sum)));
  return count;
}

// What is left when displacements are undone holds some of the picture, too, which mustn't count as
// bright tones' noise: a camera's is strongest in dark ones.
int32_t measure_undone_tones(const std::vector<LayerPair>& near, NoiseModel& noise) {
  constexpr float kMostRise = 1.25f;
  const Blocks blocks = calmest_blocks(near, noise.sigma[0][0]);
  if (blocks.empty() || !is_left_noise(blocks)) return 0;
  NoiseModel found = noise;
  const int32_t told = measure_tones(
      undone(near), [](SquareState state) { return state != SquareState::kChanged; }, found);
  const float *first = found.tones, *middle = first + kNoiseTones / 2;
  const float dark = std::accumulate(first, middle, 0.0f);
  if (std::accumulate(middle, first + kNoiseTones, 0.0f) > kMostRise * dark) return 0;
  noise = found;
  return told;
}

// `found`: luma's sigma as of each layer.
void measure_all_tones(const std::vector<LayerPair>& near, float found, NoiseModel& noise) {
  const auto unmoved = [&](SquareState state) {
    return state == SquareState::kShaken ? noise.between.known : state != SquareState::kChanged;
  };
  noise.told_tones = measure_tones(near, unmoved, noise);
  if (noise.told_tones == 0 && noise.still) {
    // So coarse that no square of it seems to stand still.
    noise.told_tones = measure_tones(near, [](SquareState) { return true; }, noise);
  }
  std::copy_n(noise.tones, kNoiseTones, noise.layer_tones);
  if (noise.told_tones > 0) return;
  noise.told_tones = measure_undone_tones(near, noise);
  // A filter has to take more of coarse noise, which it sees in few places, than its variance: as
  // much as is measured of each layer, but where that took texture for noise.
  const bool mistaken = noise.sigma[0][0] < found;
  noise.doubted_tones = noise.told_tones > 0 && !noise.white[0] && !mistaken;
}

// Where few tones stood still, layers show how noise depends on brightness no better than each
// alone.
bool each_tells_tones(const NoiseModel& noise) {
  return noise.alone.known && (noise.doubted_tones || noise.told_tones < kFewestTones);
}

NoiseModel noise_alone(const NoiseModel& noise) {
  NoiseModel alone = noise;
  alone.bend = noise.alone.bend;
  alone.bend.lift = noise.lift;
  alone.unevenness = 1;
  for (int32_t c = 0; c < noise.channels; ++c) {
    for (int32_t l = 0; l < noise.levels; ++l) alone.sigma[l][c] = noise.alone.sigma[l][c];
    alone.white[c] = noise.alone.white[c];
    alone.strength[c] = noise.alone.strength[c];
  }
  return alone;
}

// Variance at a tone's middle, over that of sigma.
double variance_at(const NoiseModel& even, int32_t tone, double sigma) {
  const double middle = (tone + 0.5) * 256 / kNoiseTones;
  const double there = sigma_at(even, 0, static_cast<float>(middle)) / sigma;
  return there * there;
}

// All that is compared of layers in their order: of neighbours, of those two apart, and of the
// first and the last one.
struct Pairs {
  std::vector<LayerPair> near, far, ends;
};

// What drifts slowly shows from the first to the last.
bool stand_still(const Pairs& pairs) {
  const bool few = pairs.near.size() < 3, two = pairs.near.size() < 2;
  const std::vector<LayerPair>& furthest = two ? pairs.near : few ? pairs.far : pairs.ends;
  return stand_still(pairs.near) && stand_still(furthest);
}

Pairs compare_all(const std::vector<Sample>& samples, double known, bool averaged,
                  const std::vector<bool>& still) {
  Pairs pairs;
  for (size_t i = 1; i < samples.size(); ++i) {
    const auto with = [&](size_t other, Apart apart) {
      return compare_layers(samples[other], samples[i], known, averaged ? Apart::kOnAverage : apart,
                            still);
    };
    pairs.near.push_back(with(i - 1, Apart::kNext));
    if (i > 1) pairs.far.push_back(with(i - 2, Apart::kFurther));
    if (i > 2 && i + 1 == samples.size()) pairs.ends.push_back(with(0, Apart::kFurther));
  }
  return pairs;
}

// Of all pairs of so many layers in a row. What shakes differs by as much however far apart; what
// drifts, by more and more from two steps to the ends.
template <typename Of>
double mean_of(const Pairs& pairs, int32_t layers, const Of& of) {
  const auto mean = [&](const std::vector<LayerPair>& some) {
    double sum = 0;
    for (const LayerPair& pair : some) sum += of(pair);
    return sum / static_cast<double>(std::max<size_t>(1, some.size()));
  };
  const double near = mean(pairs.near), far = mean(pairs.far), ends = mean(pairs.ends);
  const auto most = static_cast<double>(pairs.near.size());
  double sum = (layers - 1) * near + (layers - 2) * far;
  for (int32_t steps = 3; steps < layers; ++steps) {
    sum += (layers - steps) * std::lerp(far, ends, (steps - 2) / (most - 2));
  }
  return sum / (0.5 * layers * (layers - 1));
}

// A mean of n layers in a row holds an n-th of their noise, and is blurred by what displacements
// make all pairs of them differ by, on average: a few pairs may differ by more. (356 bursts of four
// that shake or drift: up to 0.13 the mean was better by up to 2 dB, and worse by 0.3 at most; from
// 0.17 on it was worse.)
bool differ_little(const Pairs& pairs, int32_t layers) {
  constexpr double kMostShare = 0.13;
  return mean_of(pairs, layers, [](const LayerPair& pair) { return pair.share; }) <= kMostShare;
}

// Of many pairs one is more often short of what all of them are together than of few.
bool stand_still_on_average(const Pairs& pairs, int32_t layers) {
  const auto of = [](const LayerPair& pair) {
    const auto squares = static_cast<double>(pair.still + pair.changed);
    return squares > 0 ? static_cast<double>(pair.still) / squares : 1;
  };
  return mean_of(pairs, layers, of) >= kStillSquares;
}

// How many layers on either side a mean may take that is better than each layer: 0 for none. The
// pairs become those that say so.
int32_t reach_of(const std::vector<Sample>& samples, double known, bool still,
                 const std::vector<bool>& squares, Pairs& pairs) {
  const auto layers = static_cast<int32_t>(samples.size());
  const int32_t fewest = std::min(layers, 3);
  if (stand_still(pairs)) return kAllLayers;
  if (still || (!differ_little(pairs, layers) && !differ_little(pairs, fewest))) return 0;
  pairs = compare_all(samples, known, true, squares);
  // One that shows something else does so beside its neighbours.
  const auto shows_same = [](const LayerPair& pair) { return is_still(pair, 0.5 * kStillSquares); };
  if (!std::all_of(pairs.near.begin(), pairs.near.end(), shows_same)) return 0;
  const auto averaged = [&](int32_t count) {
    return differ_little(pairs, count) && stand_still_on_average(pairs, count);
  };
  if (averaged(layers)) return kAllLayers;
  int32_t reach = (layers - 2) / 2;
  while (reach > 0 && !averaged(2 * reach + 1)) --reach;
  return reach;
}

// Layers that surely show noise speak for those that look the same and don't dare, up to what is
// left in most places when displacements are undone.
void take_sure(const Pairs& pairs, const NoiseModel& sure, NoiseModel& noise) {
  std::vector<LayerPair> all = pairs.near;
  all.insert(all.end(), pairs.far.begin(), pairs.far.end());
  const Blocks blocks = calmest_blocks(all, sure.sigma[0][0]);
  if (blocks.empty()) return;
  noise.levels = sure.levels;
  noise.confidence = sure.confidence;
  for (int32_t c = 0; c < noise.channels; ++c) {
    const double left = std::sqrt(left_of(blocks, 0, c, 0.5)), sigma = sure.sigma[0][c];
    const double most = std::max<double>(noise.sigma[0][c], left);
    const auto share = static_cast<float>(sigma > most ? most / sigma : 1.0);
    for (int32_t l = 0; l < sure.levels; ++l) noise.sigma[l][c] = share * sure.sigma[l][c];
    noise.white[c] = sure.white[c];
    noise.strength[c] = sure.strength[c];
  }
}

}  // namespace

void measure_layers(const std::vector<Sample>& samples, const NoiseModel* sure, NoiseModel& noise) {
  if (samples.size() < 2) return;
  const float found = noise.sigma[0][0];
  const double known = found * found;
  const std::vector<bool> squares = still_squares(samples);
  Pairs pairs = compare_all(samples, known, false, squares);
  measure_still(pairs.near, pairs.far, noise);
  // What drifts slowly stands still from layer to layer only, which shows its noise all the same.
  if (std::any_of(pairs.ends.begin(), pairs.ends.end(), has_moved)) noise.still = false;
  measure_left(pairs.near, pairs.far, samples, noise);
  if (sure != nullptr && !noise.still && noise.confidence != Confidence::kMeasured) {
    take_sure(pairs, *sure, noise);
  }
  const int32_t reach = reach_of(samples, known, noise.still, squares, pairs);
  if (reach > 0) measure_between(pairs.near, noise);
  noise.between.reach = reach;
  measure_all_tones(pairs.near, found, noise);
}

double variance_left(const std::vector<Sample>& samples) {
  std::vector<LayerPair> pairs;
  for (size_t i = 1; i < samples.size(); ++i) {
    pairs.push_back(compare_layers(samples[i - 1], samples[i], 0, Apart::kNext));
  }
  const Blocks blocks = calmest_blocks(pairs, 0);
  return blocks.empty() ? HUGE_VAL : left_of(blocks, 0, 0, 0.5);
}

void tell_layers_apart(NoiseModel& noise) {
  constexpr double kClearly = 1.1;
  const NoiseModel even = evened_noise(noise);
  if (each_tells_tones(noise) && noise.sigma[0][0] > 0) {
    for (int32_t t = 0; t < kNoiseTones; ++t) {
      noise.layer_tones[t] =
          static_cast<float>(std::max(kLeast, variance_at(even, t, noise.sigma[0][0])));
    }
  }
  // What no camera has smoothed each layer shows wherever it is.
  const bool shown = noise.confidence == Confidence::kMeasured && noise.white[0] &&
                     (noise.alone.known || noise.told_tones >= kFewestTones);
  LayerDifference& between = noise.between;
  if (!between.known || !shown) return;
  for (int32_t t = 0; t < kNoiseTones; ++t) {
    const double most = kClearly * kClearly * variance_at(even, t, between.sigma[0][0]);
    between.tones[t] = std::min(between.tones[t], static_cast<float>(most));
  }
}

NoiseModel evened_noise(const NoiseModel& noise) {
  if (each_tells_tones(noise)) return noise_alone(noise);
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
  even.bend.lift = noise.lift;
  even.unevenness = 1;
  for (int32_t l = 0; l < even.levels; ++l) {
    for (int32_t c = 0; c < even.channels; ++c) even.sigma[l][c] *= static_cast<float>(scale);
  }
  return even;
}

}  // namespace grainless
