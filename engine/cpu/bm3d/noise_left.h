// SPDX-License-Identifier: MIT
// What a ridge filter that follows another filters (engine/boundary/plan.h: GroupRule::kRidge): a
// picture that has lost a part of its noise.
#pragma once

#include <cstdint>

#include "engine/boundary/plan.h"
#include "engine/cpu/frame/planes.h"
#include "engine/thread_pool.h"

namespace grainless {

class NoiseLeft {
 public:
  // All of the noise. The planes outlive this.
  explicit NoiseLeft(const Planes& noisy) : noisy_(noisy) {}

  const Planes& picture() const { return picture_.channels() > 0 ? picture_ : noisy_; }
  // Of the noise, in each pixel of the picture; null: all of it.
  const Planes* share() const { return share_.channels() > 0 ? &share_ : nullptr; }

  // Leaves the share that `next` asks for, over the estimate's rectangle. The shares are right
  // where the picture's pixels within kShareRadius lie in it, or outside of the image.
  void leave(const Planes& estimate, const Bm3dStage& next, ThreadPool& pool);

 private:
  void leave_picture(const Planes& estimate, float least, ThreadPool& pool);
  void measure_share(const Bm3dStage& next, ThreadPool& pool);

  const Planes& noisy_;
  Planes picture_, share_;
};

}  // namespace grainless
