// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "image_io/image.h"

namespace grainless::tools {

// Adds white Gaussian noise of standard deviation sigma (8-bit steps) to the colours of a float
// picture, without clipping; alpha stays. A sample's noise depends on seed and the sample's number
// alone: SplitMix64 of both, then Box and Muller's transform.
void add_noise(Image& image, double sigma, uint64_t seed);

// Throws Error(kBadParameter) where a sigma is given that is no number from 0 to 1000.
void check_noise(const std::optional<double>& sigma);

// One draw of the same standard normal noise.
double normal_noise(uint64_t seed, uint64_t index);

}  // namespace grainless::tools
