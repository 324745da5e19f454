// SPDX-License-Identifier: MIT
// Black-and-white pictures of three colour channels: their noise is the same in all of them.
#pragma once

#include "model.h"
#include "sample.h"

namespace grainless {

inline constexpr float kLumaOfGrey = 1.73205081f;  // luma of a grey of 1

// Whether 99 % of the pixels are grey, as a scanned photograph's are beside a coloured stamp.
bool is_neutral(const Sample& sample);

// The sample as one of a grey picture; pixels of colour become invalid.
Sample grey_sample(const Sample& sample);

// What the noise of a grey picture is in one of three equal channels: luma's, which is the square
// root of 3 as strong there, as all of its pixels are.
NoiseModel neutral_noise(const NoiseModel& grey);

}  // namespace grainless
