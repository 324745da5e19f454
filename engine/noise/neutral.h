// SPDX-License-Identifier: MIT
// Pictures of three colour channels that hold one: black-and-white ones, and those that a program
// has toned (sepia, cyanotype, duotone). Their noise is that of the grey picture they were made of.
#pragma once

#include <optional>

#include "model.h"
#include "sample.h"

namespace grainless {

inline constexpr float kLumaOfGrey = 1.73205081f;  // luma of a grey of 1

// Whether 99 % of the pixels are grey, as a scanned photograph's are beside a coloured stamp.
bool is_neutral(const Sample& sample);

// How much chroma rises with luma, or falls, in the median pixel. 0 in black-and-white pictures.
struct Toning {
  float slope[kMaxChannels] = {1, 0, 0};

  bool is_neutral() const { return slope[1] == 0 && slope[2] == 0; }
};

// Of a picture whose chroma follows from its luma but for what rounding leaves; none of others.
std::optional<Toning> find_toning(const Sample& sample);

// The sample as one of a grey picture, its luma; of a black-and-white one, pixels of colour become
// invalid.
Sample grey_sample(const Sample& sample);

// What the noise of a grey picture is in one whose channels all follow from it: luma's is the
// square root of 3 as strong where they are equal, as all of its pixels are.
NoiseModel noise_of_toned(const NoiseModel& grey, const Toning& toning);

}  // namespace grainless
