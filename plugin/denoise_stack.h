// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "denoise_task.h"

namespace grainless {

// What the dialog's preview already knows about the stack; pixels that have changed since are
// noticed, and then the noise is measured again.
struct KnownStack {
  std::vector<const PixelBuffer*> pixels;  // of the measured_layers(), whole
  std::optional<NoiseModel> noise;
};

// The layers of a stack, of one size, place and format.
class DenoiseStack final : public DenoiseTask {
 public:
  DenoiseStack(Engine& engine, const Drawables& layers, const Params& params,
               const KnownStack& known);

 private:
  void run(const Watch& watch) override;
  const char* nothing_selected() const override;
  std::vector<PixelBuffer> buffers(const Rect& rect) const;
  std::vector<PixelBuffer> read_layers(const Watch& watch);
  bool is_known(const std::vector<PixelBuffer>& sources) const;
  NoiseModel noise_of(const std::vector<PixelBuffer>& sources, const Watch& watch, double& seconds);

  KnownStack known_;
};

}  // namespace grainless
