// SPDX-License-Identifier: MIT
#include "denoise_drawable.h"

#include <glib/gi18n.h>

#include "run_beside.h"

namespace grainless {
namespace {

// Shares of the progress bar on the processor; a graphics card is done before anybody looks.
constexpr double kReadShare = 0.04, kEstimateShare = 0.03, kWriteShare = 0.03;

}  // namespace

DenoiseDrawable::DenoiseDrawable(Engine& engine, GimpDrawable* drawable, const Params& params,
                                 const Known& known)
    : DenoiseTask(engine, {drawable}, params), known_(known) {}

const char* DenoiseDrawable::nothing_selected() const {
  return _("Nothing is selected on this layer, so it stays as it is.");
}

void DenoiseDrawable::run(const Watch& watch) {
  PixelBuffer source = buffer(0, source_rect());
  read(0, source, share(watch, 0, kReadShare));
  double estimate = 0;
  const NoiseModel noise = noise_of(source, share(watch, kReadShare, kEstimateShare), estimate);
  PixelBuffer result = buffer(0, target());
  const double start = kReadShare + kEstimateShare, end = 1 - kWriteShare;
  const auto compute = [&](const Callbacks& callbacks) {
    return engine_.denoise(params_, noise, source.image(), result.writable(), callbacks,
                           report_.engine);
  };
  run_beside(compute, share(watch, start, end - start));
  report_.engine.estimate = estimate;
  if (!report_.engine.changed) return;
  begin_preparing(share(watch, end, kWriteShare / 2));
  prepare(0, source, result, share(watch, end + kWriteShare / 2, kWriteShare / 2));
}

// Sigma and range are measured on the whole layer, whatever is selected: preview and result agree,
// and so do two selections.
Rect DenoiseDrawable::source_rect() const {
  const PixelFormat format = io(0).encoding().format;
  if (Engine::looks_at_whole(params_, format)) return io(0).whole();
  const NoiseModel noise = white_noise(format.colours(), static_cast<float>(params_.sigma));
  Rect source;
  throw_if_failed(
      engine_.source_rect(params_, format, noise, target(), io(0).width(), io(0).height(), source));
  return source;
}

NoiseModel DenoiseDrawable::noise_of(const PixelBuffer& source, const Watch& watch,
                                     double& seconds) const {
  if (params_.auto_sigma && known_.noise && same_pixels(*known_.pixels, source)) {
    return *known_.noise;
  }
  NoiseModel noise;
  const auto measure = [&](const Callbacks& callbacks) {
    return engine_.noise_for(params_, source.image(), callbacks, noise, &seconds);
  };
  run_beside(measure, watch);
  return noise;
}

}  // namespace grainless
