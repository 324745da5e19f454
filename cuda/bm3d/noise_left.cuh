// SPDX-License-Identifier: MIT
// What ridge filters with a share of the noise filter (engine/boundary/plan.h: GroupRule::kRidge):
// a picture that has lost a part of its noise.
#pragma once

#include <cuda_runtime.h>

#include "cuda/frame/method.cuh"
#include "engine/boundary/plan.h"

namespace grainless::cuda {

class NoiseLeft {
 public:
  // All of the noise. Of the buffers, over one rectangle, only planes are used.
  NoiseLeft(const DevicePlanes& noisy, const DevicePlanes& picture, const DevicePlanes& share)
      : noisy_(noisy), picture_(picture), share_(share) {}

  const DevicePlanes& picture() const { return lost_ ? picture_ : noisy_; }
  // Of the noise, in each pixel of the picture; without data: all of it.
  DevicePlanes share() const { return lost_ ? share_ : DevicePlanes{}; }

  // Leaves the share that `next` asks for over the estimate's rectangle, which lies in the one
  // before. The shares are right where the picture's pixels within kShareRadius lie in it, or
  // outside of the image.
  void leave(const DevicePlanes& estimate, const Bm3dStage& next, cudaStream_t stream);

 private:
  DevicePlanes noisy_, picture_, share_;
  bool lost_ = false;
};

}  // namespace grainless::cuda
