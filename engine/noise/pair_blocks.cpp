// SPDX-License-Identifier: MIT
#include "pair_blocks.h"

#include <algorithm>
#include <utility>

namespace grainless {
namespace {

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

template <typename Value>
double median_of(Blocks::const_iterator first, Blocks::const_iterator end, const Value& value) {
  std::vector<double> values;
  for (auto block = first; block != end; ++block) values.push_back(value((*block)->left));
  return median(std::move(values));
}

bool mostly(const Blocks& blocks, bool PairBlock::* what) {
  const auto such = std::count_if(blocks.begin(), blocks.end(),
                                  [&](const PairBlock* block) { return block->*what; });
  return 2 * static_cast<size_t>(such) > blocks.size();
}

bool mostly_cut_off(const Blocks& blocks) {
  return mostly(blocks, &PairBlock::cut_off);
}

}  // namespace

Tones tones_of(const LayerPair& pair, const std::function<bool(const PairBlock&)>& wanted) {
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

double quantile_of(const Blocks& blocks, int32_t level, int32_t channel, double share) {
  return quantile_of(blocks, level, channel, share,
                     [](const PairBlock& block) { return block.variance; });
}

double left_of(const Blocks& blocks, int32_t level, int32_t channel, double share) {
  return quantile_of(blocks, level, channel, share,
                     [](const PairBlock& block) { return block.left.variance; });
}

bool is_steady(const Blocks& blocks, double most) {
  if (blocks.size() < kFewestBlocks) return false;
  return quantile_of(blocks, 0, 0, 0.75) <= most * quantile_of(blocks, 0, 0, 0.25);
}

bool mostly_clipped(const Blocks& blocks) {
  return mostly(blocks, &PairBlock::clipped);
}

Blocks calmest_blocks(const std::vector<LayerPair>& pairs, double sigma) {
  std::vector<Blocks> found;
  for (const LayerPair& pair : pairs) {
    found.push_back(traced_blocks(pair, sigma));
    if (found.back().size() < kFewestBlocks) found.pop_back();
  }
  const bool all = std::all_of(found.begin(), found.end(), mostly_cut_off);
  if (!all) std::erase_if(found, mostly_cut_off);
  size_t most = 0;
  for (const Blocks& blocks : found) most = std::max(most, blocks.size());
  Blocks calmest;
  for (Blocks& blocks : found) {
    if (2 * blocks.size() < most) continue;
    if (calmest.empty() ||
        left_of(blocks, 0, 0, kMostBlocks) < left_of(calmest, 0, 0, kMostBlocks)) {
      calmest = std::move(blocks);
    }
  }
  return calmest;
}

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
         left_of(blocks, 0, 0, kMostBlocks) <= kMostVariance * left_of(blocks, 0, 0, 0.5) &&
         median_of(first, middle, fine) > kLeastInFlat * median_of(middle, end, fine);
}

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

}  // namespace grainless
