// SPDX-License-Identifier: MIT
#include "preview_stack.h"

namespace grainless {

PreviewStack::PreviewStack(Engine& engine, const Drawables& layers, int32_t shown)
    : LayersPreview(engine, layers, shown), noise_layers_(measured_layers(count())) {
  for (GimpDrawable* layer : layers) {
    gchar* name = gimp_item_get_name(GIMP_ITEM(layer));
    names_.emplace_back(name);
    g_free(name);
  }
}

std::vector<const PixelBuffer*> PreviewStack::measured_pixels() const {
  std::vector<const PixelBuffer*> pixels;
  for (const int32_t index : noise_layers_) pixels.push_back(&layer(index).pixels());
  return pixels;
}

Status PreviewStack::measure(const Params& params, const Callbacks& callbacks, NoiseModel& noise) {
  std::vector<ConstImage> layers;
  for (const int32_t index : noise_layers_) layers.push_back(layer(index).pixels().image());
  return engine().volume_noise(params, layers, callbacks, noise, nullptr);
}

Status PreviewStack::needed(const Params& params, const NoiseModel& noise, PixelFormat format,
                            const VolumeBox& box, int32_t width, int32_t height,
                            VolumeBox& source) {
  return engine().volume_source(params, params.depth, format, noise, box, width, height, count(),
                                source);
}

Status PreviewStack::run(const Params& params, const NoiseModel& noise,
                         const VolumePart<ConstImage>& source,
                         const VolumePart<MutableImage>& target, const Callbacks& callbacks,
                         Report& report) {
  return engine().denoise_volume_part(params, params.depth, noise, source, target, callbacks,
                                      report);
}

}  // namespace grainless
