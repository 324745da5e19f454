// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "layers_preview.h"

namespace grainless {

// The stack that the dialog previews, a layer at a time: computed from the layers within reach, and
// from the noise that the whole stack is denoised with.
class PreviewStack final : public LayersPreview, public ui::LayerList {
 public:
  // One size and format, from the bottom up.
  PreviewStack(Engine& engine, const Drawables& layers, int32_t shown);

  // Of the layers whose noise was measured, when it was.
  std::vector<const PixelBuffer*> measured_pixels() const;

  std::vector<std::string> names() const override { return names_; }
  int32_t shown() const override { return shown_layer(); }
  void show(int32_t layer) override { show_layer(layer); }

 private:
  std::vector<int32_t> noise_layers() const override { return noise_layers_; }
  Status measure(const Params& params, const Callbacks& callbacks, NoiseModel& noise) override;
  Status needed(const Params& params, const NoiseModel& noise, PixelFormat format,
                const VolumeBox& box, int32_t width, int32_t height, VolumeBox& source) override;
  Status run(const Params& params, const NoiseModel& noise, const VolumePart<ConstImage>& source,
             const VolumePart<MutableImage>& target, const Callbacks& callbacks,
             Report& report) override;

  std::vector<std::string> names_;
  std::vector<int32_t> noise_layers_;
};

}  // namespace grainless
