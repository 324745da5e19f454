// SPDX-License-Identifier: MIT
// Pictures whose three channels hold a single one: black-and-white pictures, and those that a
// program has toned (sepia, cyanotype, duotone). Their noise is that of the grey picture they were
// made from.
#pragma once

#include <optional>

#include "picture_noise.h"
#include "sample.h"

namespace grainless {

inline constexpr float kLumaOfGrey = 1.73205081f;  // luma of a grey of 1

// Whether 99 % of the pixels are grey, as in a scanned photograph with a coloured stamp.
bool is_neutral(const Sample& sample);

// By how much chroma rises (or falls) with luma, in the median. 0 in black-and-white pictures.
struct Toning {
  float slope[kMaxChannels] = {1, 0, 0};

  bool is_neutral() const { return slope[1] == 0 && slope[2] == 0; }
};

// The toning of a picture whose chroma follows from its luma, apart from rounding; empty for
// others.
std::optional<Toning> find_toning(const Sample& sample);

// The sample's luma, as the sample of a grey picture. The coloured pixels of a black-and-white
// picture become invalid.
Sample grey_sample(const Sample& sample);

// The noise of a picture whose channels all follow from a grey one with noise `grey`. Where they
// are equal, luma's noise is sqrt(3) times as strong, as luma itself is.
PictureNoise noise_of_toned(const PictureNoise& grey, const Toning& toning);

}  // namespace grainless
