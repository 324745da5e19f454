// SPDX-License-Identifier: MIT
// What ridge filters with a share of the noise filter (engine/boundary/plan.h: GroupRule::kRidge):
// a picture that has lost a part of its noise.
#pragma once

#include <cstdint>

#include "engine/boundary/plan.h"
#include "engine/cpu/frame/planes.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"

namespace grainless {

class NoiseLeft {
 public:
  // All of the noise. What is given outlives this.
  NoiseLeft(const Planes& noisy, ThreadPool& pool, const Callbacks& callbacks)
      : noisy_(noisy), pool_(pool), callbacks_(callbacks) {}

  const Planes& picture() const { return picture_.channels() > 0 ? picture_ : noisy_; }
  // Of the noise, in each pixel of the picture; null: all of it.
  const Planes* share() const { return share_.channels() > 0 ? &share_ : nullptr; }

  // Leaves the share that `next` asks for, over the estimate's rectangle. The shares are right
  // where the picture's pixels within kShareRadius lie in it, or outside of the image.
  void leave(const Planes& estimate, const Bm3dStage& next);

 private:
  void leave_picture(const Planes& estimate, float least);
  void measure_share(const Bm3dStage& next);

  const Planes& noisy_;
  ThreadPool& pool_;
  const Callbacks& callbacks_;
  Planes picture_, share_;
};

}  // namespace grainless
