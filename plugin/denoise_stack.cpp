// SPDX-License-Identifier: MIT
#include "denoise_stack.h"

#include <glib/gi18n.h>

#include "engine/stopwatch.h"
#include "run_beside.h"

namespace grainless {
namespace {

// Shares of the progress bar.
constexpr double kReadShare = 0.03, kEstimateShare = 0.03, kWriteShare = 0.03;

Error refused() {
  return {ErrorCode::kBadInput, _("GIMP did not take the new pixels; nothing was changed.")};
}

bool is_known(const KnownStack& known, const std::vector<PixelBuffer>& sources) {
  if (known.noise == nullptr) return false;
  const std::vector<int32_t> measured = measured_layers(static_cast<int32_t>(sources.size()));
  for (size_t i = 0; i < measured.size(); ++i) {
    if (!same_pixels(*known.pixels[i], sources[static_cast<size_t>(measured[i])])) return false;
  }
  return true;
}

}  // namespace

DenoiseStack::DenoiseStack(Engine& engine, const Drawables& layers, const Params& params)
    : engine_(engine), params_(params) {
  for (GimpDrawable* layer : layers) io_.push_back(std::make_unique<DrawableIo>(layer));
  target_ = io_.front()->selected();
  gchar* name = gimp_item_get_name(GIMP_ITEM(layers.front()));
  report_.drawable = name;
  g_free(name);
  report_.layers = static_cast<int32_t>(layers.size());
  report_.params = params;
}

DenoiseStack::~DenoiseStack() {
  for (size_t i = 0; i < prepared_; ++i) io_[i]->discard();
}

Status DenoiseStack::compute(const KnownStack& known, const Watch& watch) {
  const Stopwatch stopwatch;
  const Status status = guard([&] { run(known, watch); });
  report_.total = stopwatch.seconds();
  return status;
}

std::vector<PixelBuffer> DenoiseStack::buffers() const {
  std::vector<PixelBuffer> buffers;
  for (const auto& io : io_) {
    buffers.emplace_back(io->encoding().format, io->width(), io->height(), io->whole());
  }
  return buffers;
}

std::vector<PixelBuffer> DenoiseStack::read(const Watch& watch) {
  const Stopwatch stopwatch;
  std::vector<PixelBuffer> sources = buffers();
  const double part = 1.0 / static_cast<double>(io_.size());
  for (size_t i = 0; i < io_.size(); ++i) {
    io_[i]->read_all(sources[i], share(watch, static_cast<double>(i) * part, part));
  }
  report_.read = stopwatch.seconds();
  return sources;
}

NoiseModel DenoiseStack::noise_of(const std::vector<ConstImage>& layers, const Watch& watch) {
  NoiseModel noise;
  const auto measure = [&](const Callbacks& callbacks) {
    const Callbacks quiet{callbacks.cancel, {}};  // each layer's progress would begin anew
    return engine_.volume_noise(params_, layers, quiet, noise, &report_.engine.estimate);
  };
  run_beside(measure, watch);
  return noise;
}

void DenoiseStack::run(const KnownStack& known, const Watch& watch) {
  if (target_.empty()) {
    report_.engine.note = _("Nothing is selected on these layers, so they stay as they are.");
    return;
  }
  const std::vector<PixelBuffer> sources = read(share(watch, 0, kReadShare));
  std::vector<PixelBuffer> results = buffers();
  std::vector<ConstImage> from;
  std::vector<MutableImage> to;
  for (const PixelBuffer& source : sources) from.push_back(source.image());
  for (PixelBuffer& result : results) to.push_back(result.writable());
  const NoiseModel noise = params_.auto_sigma && is_known(known, sources)
                               ? *known.noise
                               : noise_of(from, share(watch, kReadShare, kEstimateShare));
  const double estimate = report_.engine.estimate, start = kReadShare + kEstimateShare;
  const auto count = static_cast<int32_t>(io_.size());
  const auto compute = [&](const Callbacks& callbacks) {
    return engine_.denoise_volume_part(params_, params_.depth, noise, {count, 0, from},
                                       {count, 0, to}, callbacks, report_.engine);
  };
  run_beside(compute, share(watch, start, 1 - start - kWriteShare));
  report_.engine.estimate = estimate;
  if (!report_.engine.changed) return;
  prepare(sources, results, share(watch, 1 - kWriteShare, kWriteShare));
}

void DenoiseStack::prepare(const std::vector<PixelBuffer>& sources,
                           const std::vector<PixelBuffer>& results, const Watch& watch) {
  const Stopwatch stopwatch;
  const double part = 1.0 / static_cast<double>(io_.size());
  for (size_t i = 0; i < io_.size(); ++i) {
    prepared_ = i + 1;
    const Watch one = share(watch, static_cast<double>(i) * part, part);
    if (!io_[i]->prepare(sources[i], results[i], one)) throw refused();
  }
  report_.write = stopwatch.seconds();
}

Status DenoiseStack::merge() {
  const Stopwatch stopwatch;
  for (size_t i = 0; i < prepared_; ++i) {
    if (!io_[i]->merge(target_)) {
      return {ErrorCode::kBadInput,
              i == 0 ? _("GIMP did not take the new pixels; nothing was changed.")
                     : _("GIMP did not take the new pixels of all layers: undo takes back those "
                         "that it took.")};
    }
  }
  prepared_ = 0;
  report_.write += stopwatch.seconds();
  report_.total += stopwatch.seconds();
  return {};
}

}  // namespace grainless
