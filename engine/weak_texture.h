// SPDX-License-Identifier: MIT
// White noise: smallest eigenvalue of the covariance of patches with little texture.
#pragma once

#include "noise_sample.h"

namespace grainless {

// Standard deviation of the noise of one channel at one level (Liu, Tanaka, Okutomi: Single-Image
// Noise Level Estimation for Blind Denoising, 2013). 0 when there are too few patches. On noise
// whose finest band is weak (demosaicing, JPEG) it finds that band only.
double weak_texture_sigma(const Sample& sample, int32_t channel, int32_t level, ThreadPool& pool,
                          const Callbacks& callbacks);

// Smallest eigenvalue of a symmetric size x size matrix, row-major; destroys it.
double smallest_eigenvalue(std::vector<double>& matrix, int32_t size);

}  // namespace grainless
