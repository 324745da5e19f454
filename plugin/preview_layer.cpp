// SPDX-License-Identifier: MIT
#include "preview_layer.h"

namespace grainless {

Status PreviewLayer::measure(const Params& params, const Callbacks& callbacks, NoiseModel& noise) {
  return engine().noise_for(params, pixels().image(), callbacks, noise, nullptr);
}

Status PreviewLayer::needed(const Params& params, const NoiseModel& noise, PixelFormat format,
                            const VolumeBox& box, int32_t width, int32_t height,
                            VolumeBox& source) {
  source = box;
  return engine().source_rect(params, format, noise, box.rect, width, height, source.rect);
}

Status PreviewLayer::run(const Params& params, const NoiseModel& noise,
                         const VolumePart<ConstImage>& source,
                         const VolumePart<MutableImage>& target, const Callbacks& callbacks,
                         Report& report) {
  return engine().denoise(params, noise, source.layers.front(), target.layers.front(), callbacks,
                          report);
}

}  // namespace grainless
