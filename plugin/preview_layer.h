// SPDX-License-Identifier: MIT
#pragma once

#include "layers_preview.h"

namespace grainless {

// The layer that the dialog previews.
class PreviewLayer final : public LayersPreview {
 public:
  PreviewLayer(Engine& engine, GimpDrawable* drawable) : LayersPreview(engine, {drawable}, 0) {}

  const PixelBuffer& pixels() const { return layer(0).pixels(); }

 private:
  std::vector<int32_t> noise_layers() const override { return {0}; }
  Status measure(const Params& params, const Callbacks& callbacks, NoiseModel& noise) override;
  Status needed(const Params& params, const NoiseModel& noise, PixelFormat format,
                const VolumeBox& box, int32_t width, int32_t height, VolumeBox& source) override;
  Status run(const Params& params, const NoiseModel& noise, const VolumePart<ConstImage>& source,
             const VolumePart<MutableImage>& target, const Callbacks& callbacks,
             Report& report) override;
};

}  // namespace grainless
