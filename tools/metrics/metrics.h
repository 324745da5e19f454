// SPDX-License-Identifier: MIT
// How far two pictures are from one another. Both are taken on the 8-bit scale, 0..255, whatever
// their samples; floats are not clipped. Alpha takes no part.
#pragma once

#include <optional>
#include <string>

#include "engine/boundary/pixels.h"

namespace grainless::tools {

// Throws Error(kBadInput) unless sizes and the number of colour channels agree.
void check_comparable(const ConstImage& a, const ConstImage& b, const std::string& a_name,
                      const std::string& b_name);

// Peak signal-to-noise ratio, 10 log10(255^2 / MSE) in dB, MSE over all colour channels. Nothing
// when the pictures are identical (it would be infinite) or hold values that are not finite.
std::optional<double> psnr(const ConstImage& a, const ConstImage& b);

// Structural similarity (Wang, Bovik, Sheikh, Simoncelli 2004): Gaussian window of 11 x 11 pixels
// and standard deviation 1.5, K1 = 0.01, K2 = 0.03, L = 255, mean over all positions where the
// window lies inside the picture, without downsampling; colour: mean over the channels. Nothing
// when a side is under 11 pixels or a value is not finite.
std::optional<double> ssim(const ConstImage& a, const ConstImage& b);

}  // namespace grainless::tools
