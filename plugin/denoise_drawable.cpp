// SPDX-License-Identifier: MIT
#include "denoise_drawable.h"

#include <glib/gi18n.h>

#include "engine/stopwatch.h"
#include "run_beside.h"

namespace grainless {
namespace {

// Shares of the progress bar on the processor; a graphics card is done before anybody looks.
constexpr double kReadShare = 0.04, kEstimateShare = 0.03, kWriteShare = 0.03;

}  // namespace

DenoiseDrawable::DenoiseDrawable(Engine& engine, GimpDrawable* drawable, const Params& params)
    : engine_(engine), io_(drawable), params_(params), target_(io_.selected()) {
  gchar* name = gimp_item_get_name(GIMP_ITEM(drawable));
  report_.drawable = name;
  g_free(name);
  report_.params = params;
}

DenoiseDrawable::~DenoiseDrawable() {
  if (prepared_) io_.discard();
}

Status DenoiseDrawable::compute(const Known& known, const Watch& watch) {
  const Stopwatch stopwatch;
  const Status status = guard([&] { run(known, watch); });
  report_.total = stopwatch.seconds();
  return status;
}

Status DenoiseDrawable::merge() {
  if (!prepared_) return {};
  const Stopwatch stopwatch;
  if (!io_.merge(target_)) {
    return {ErrorCode::kBadInput, _("GIMP did not take the new pixels; nothing was changed.")};
  }
  prepared_ = false;
  report_.write += stopwatch.seconds();
  report_.total += stopwatch.seconds();
  return {};
}

void DenoiseDrawable::run(const Known& known, const Watch& watch) {
  if (target_.empty()) {
    report_.engine.note = _("Nothing is selected on this layer, so it stays as it is.");
    return;
  }
  PixelBuffer source(io_.encoding().format, io_.width(), io_.height(), source_rect());
  {
    const Stopwatch stopwatch;
    io_.read_all(source, share(watch, 0, kReadShare));
    report_.read = stopwatch.seconds();
  }
  NoiseModel noise;
  double estimate = 0;
  if (params_.auto_sigma && known.noise != nullptr && same_pixels(*known.pixels, source)) {
    noise = *known.noise;
  } else {
    const auto measure = [&](const Callbacks& callbacks) {
      return engine_.noise_for(params_, source.image(), callbacks, noise, &estimate);
    };
    run_beside(measure, share(watch, kReadShare, kEstimateShare));
  }
  denoise(source, noise, estimate, watch);
}

// Sigma is measured on the whole layer, whatever is selected: preview and result agree, and so do
// two selections.
Rect DenoiseDrawable::source_rect() const {
  if (params_.auto_sigma) return io_.whole();
  const PixelFormat format = io_.encoding().format;
  const NoiseModel noise = white_noise(format.colours(), static_cast<float>(params_.sigma));
  Rect source;
  throw_if_failed(
      engine_.source_rect(params_, format, noise, target_, io_.width(), io_.height(), source));
  return source;
}

void DenoiseDrawable::denoise(const PixelBuffer& source, const NoiseModel& noise, double estimate,
                              const Watch& watch) {
  PixelBuffer result(io_.encoding().format, io_.width(), io_.height(), target_);
  const double start = kReadShare + kEstimateShare;
  const auto compute = [&](const Callbacks& callbacks) {
    return engine_.denoise(params_, noise, source.image(), result.writable(), callbacks,
                           report_.engine);
  };
  run_beside(compute, share(watch, start, 1 - start - kWriteShare));
  report_.engine.estimate = estimate;
  if (!report_.engine.changed) return;
  const Stopwatch stopwatch;
  prepared_ = true;
  if (!io_.prepare(source, result, share(watch, 1 - kWriteShare, kWriteShare))) {
    throw Error(ErrorCode::kBadInput, _("GIMP did not take the new pixels; nothing was changed."));
  }
  report_.write = stopwatch.seconds();
}

}  // namespace grainless
