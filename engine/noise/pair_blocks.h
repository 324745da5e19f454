// SPDX-License-Identifier: MIT
// What the blocks of pairs of layers (layer_pair.h) say together: by what most of them differ, how
// evenly, and what is left of that when displacements are undone.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "layer_pair.h"

namespace grainless {

using Blocks = std::vector<const PairBlock*>;

inline constexpr size_t kFewestBlocks = 8;  // that tell anything
inline constexpr double kMostBlocks = 0.9;  // what so many of them keep to is what all do
// Over the noise's variance, of flat blocks: what noise may have.
inline constexpr double kMostVariance = 4.0;
// Pictures have most of their contrast in large features, and noise doesn't: what moved, or changed
// its brightness, shows at quarter resolution. Of the variance at full resolution.
inline constexpr double kMostAtQuarter = 0.4;

// The blocks of some pairs by tone, the flattest first.
struct Tones {
  Blocks blocks[kNoiseTones];
};

Tones tones_of(const LayerPair& pair, const std::function<bool(const PairBlock&)>& wanted);

// The variance of the difference that a share of the blocks keeps to. Of at least one.
double quantile_of(const Blocks& blocks, int32_t level, int32_t channel, double share);
// The same of what is left of it when displacements are undone.
double left_of(const Blocks& blocks, int32_t level, int32_t channel, double share);

// What moves differs by much in some blocks and by little in others; a sensor's noise, by the same
// in all of a tone.
bool is_steady(const Blocks& blocks, double most);

// A white sky says how much noise is left there, and nothing of other tones.
bool mostly_clipped(const Blocks& blocks);

// Those of the pair of which least is left: others have moved in more ways. Of most of the blocks,
// so that they tell of the whole picture; not of exposures whose noise is cut off, where there are
// others.
Blocks calmest_blocks(const std::vector<LayerPair>& pairs, double sigma);

// Whether what displacements leave is noise: no change of light, no scattered dots, hardly stronger
// in a few places, which flow, and as strong where the picture is flat, which a displacement that
// was undone but roughly leaves plain.
bool is_left_noise(Blocks blocks);

// Of layers that were displaced: what is left of their differences when that is undone.
std::vector<LayerPair> undone(const std::vector<LayerPair>& pairs);

}  // namespace grainless
