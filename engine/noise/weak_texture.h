// SPDX-License-Identifier: MIT
// White noise: smallest eigenvalue of the covariance of patches with little texture.
#pragma once

#include "sample.h"

namespace grainless {

struct WeakTexture {
  double sigma = 0;  // standard deviation; 0 when there are too few patches
  // Mean texture of the patches that sigma was found in, in units of what white noise of that sigma
  // shows. Near 1: noise explains all that they hold. Texture has more to it.
  double texture = 0;
  bool enough = false;  // patches
  double seen = 0;      // as many patches of any texture as don't overlap
};

// The noise of one channel at one level (Liu, Tanaka, Okutomi: Single-Image Noise Level Estimation
// for Blind Denoising, 2013). On noise whose finest band is weak (demosaicing, JPEG) it finds that
// band only.
WeakTexture weak_texture_noise(const Sample& sample, int32_t channel, int32_t level,
                               ThreadPool& pool, const Callbacks& callbacks);

// Smallest eigenvalue of a symmetric size x size matrix, row-major; destroys it.
double smallest_eigenvalue(std::vector<double>& matrix, int32_t size);

}  // namespace grainless
