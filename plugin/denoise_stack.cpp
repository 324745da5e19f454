// SPDX-License-Identifier: MIT
#include "denoise_stack.h"

#include <glib/gi18n.h>

#include "run_beside.h"

namespace grainless {
namespace {

// Shares of the progress bar.
constexpr double kReadShare = 0.03, kEstimateShare = 0.03, kWriteShare = 0.03;

std::vector<ConstImage> images(const std::vector<PixelBuffer>& buffers) {
  std::vector<ConstImage> images;
  for (const PixelBuffer& buffer : buffers) images.push_back(buffer.image());
  return images;
}

}  // namespace

DenoiseStack::DenoiseStack(Engine& engine, const Drawables& layers, const Params& params,
                           const KnownStack& known)
    : DenoiseTask(engine, layers, params), known_(known) {
  report_.layers = static_cast<int32_t>(layers.size());
}

const char* DenoiseStack::nothing_selected() const {
  return _("Nothing is selected on these layers, so they stay as they are.");
}

std::vector<PixelBuffer> DenoiseStack::buffers(const Rect& rect) const {
  std::vector<PixelBuffer> buffers;
  for (size_t i = 0; i < count(); ++i) buffers.push_back(buffer(i, rect));
  return buffers;
}

std::vector<PixelBuffer> DenoiseStack::read_layers(const Watch& watch) {
  std::vector<PixelBuffer> sources = buffers(io(0).whole());
  const double part = 1.0 / static_cast<double>(count());
  for (size_t i = 0; i < count(); ++i) {
    read(i, sources[i], share(watch, static_cast<double>(i) * part, part));
  }
  return sources;
}

bool DenoiseStack::is_known(const std::vector<PixelBuffer>& sources) const {
  if (!known_.noise) return false;
  const std::vector<int32_t> measured = measured_layers(static_cast<int32_t>(sources.size()));
  for (size_t i = 0; i < measured.size(); ++i) {
    if (!same_pixels(*known_.pixels[i], sources[static_cast<size_t>(measured[i])])) return false;
  }
  return true;
}

NoiseModel DenoiseStack::noise_of(const std::vector<PixelBuffer>& sources, const Watch& watch,
                                  double& seconds) {
  if (params_.auto_sigma && is_known(sources)) return *known_.noise;
  NoiseModel noise;
  const auto measure = [&](const Callbacks& callbacks) {
    const Callbacks quiet{callbacks.cancel, {}};  // each layer's progress would begin anew
    return engine_.volume_noise(params_, images(sources), quiet, noise, &seconds);
  };
  run_beside(measure, watch);
  return noise;
}

void DenoiseStack::run(const Watch& watch) {
  const std::vector<PixelBuffer> sources = read_layers(share(watch, 0, kReadShare));
  double estimate = 0;
  const NoiseModel noise = noise_of(sources, share(watch, kReadShare, kEstimateShare), estimate);
  std::vector<PixelBuffer> results = buffers(target());
  const std::vector<ConstImage> from = images(sources);
  std::vector<MutableImage> to;
  for (PixelBuffer& result : results) to.push_back(result.writable());
  const double start = kReadShare + kEstimateShare, end = 1 - kWriteShare;
  const auto layers = static_cast<int32_t>(count());
  const auto compute = [&](const Callbacks& callbacks) {
    return engine_.denoise_volume_part(params_, params_.depth, noise, {layers, 0, from},
                                       {layers, 0, to}, callbacks, report_.engine);
  };
  run_beside(compute, share(watch, start, end - start));
  report_.engine.estimate = estimate;
  if (!report_.engine.changed) return;
  begin_preparing(share(watch, end, kWriteShare / 2));
  const double part = kWriteShare / 2 / static_cast<double>(count());
  for (size_t i = 0; i < count(); ++i) {
    prepare(i, sources[i], results[i],
            share(watch, 1 - static_cast<double>(count() - i) * part, part));
  }
}

}  // namespace grainless
