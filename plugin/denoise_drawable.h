// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "denoise_task.h"

namespace grainless {

// What the dialog's preview already knows about a drawable; pixels that have changed since are
// noticed, and then the noise is measured again.
struct Known {
  const PixelBuffer* pixels = nullptr;  // of the whole drawable
  std::optional<NoiseModel> noise;
};

// One drawable.
class DenoiseDrawable final : public DenoiseTask {
 public:
  DenoiseDrawable(Engine& engine, GimpDrawable* drawable, const Params& params, const Known& known);

 private:
  void run(const Watch& watch) override;
  const char* nothing_selected() const override;
  Rect source_rect() const;
  NoiseModel noise_of(const PixelBuffer& source, const Watch& watch, double& seconds) const;

  Known known_;
};

}  // namespace grainless
