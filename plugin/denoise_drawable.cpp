// SPDX-License-Identifier: MIT
#include "denoise_drawable.h"

#include <glib/gi18n.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <future>

#include "engine/stopwatch.h"

namespace grainless {
namespace {

// Shares of the progress bar: GIMP's own transfers take a few seconds on large layers.
constexpr double kReadShare = 0.1, kEstimateShare = 0.1, kWriteShare = 0.1;

// Runs work on another thread while this one, the only one that may talk to GIMP, shows progress.
// Cancel in GIMP ends this process; nothing has been merged then.
template <typename Work>
Status run_beside(const Work& work, const Fraction& progress) {
  std::atomic<double> fraction = 0;
  Callbacks callbacks;
  callbacks.progress = [&](double value) { fraction.store(value, std::memory_order_relaxed); };
  auto done = std::async(std::launch::async, [&] {
    Status status;
    const Status guarded = guard([&] { status = work(callbacks); });
    return guarded.ok() ? status : guarded;
  });
  while (done.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout) {
    progress(fraction.load(std::memory_order_relaxed));
  }
  return done.get();
}

Fraction share(const Fraction& progress, double from, double size) {
  return [=](double fraction) { progress(from + size * fraction); };
}

bool same_pixels(const PixelBuffer& a, const PixelBuffer& b) {
  if (a.rect() != b.rect() || a.row_bytes() != b.row_bytes()) return false;
  const size_t bytes = size_t(a.row_bytes()) * a.rect().height;
  return std::memcmp(a.at(a.rect().x, a.rect().y), b.at(b.rect().x, b.rect().y), bytes) == 0;
}

class DrawableRun {
 public:
  DrawableRun(Engine& engine, GimpDrawable* drawable, const Params& params, RunReport& report)
      : engine_(engine), io_(drawable), params_(params), report_(report), target_(io_.selected()) {}

  Status run(const Known& known, const Fraction& progress) {
    if (target_.empty()) {
      report_.engine.note = _("Nothing is selected on this layer, so it stays as it is.");
      return {};
    }
    PixelBuffer source(io_.encoding().format, io_.width(), io_.height(), source_rect());
    {
      const Stopwatch watch;
      io_.read_all(source, share(progress, 0, kReadShare));
      report_.read = watch.seconds();
    }
    NoiseModel noise;
    double estimate = 0;
    if (params_.auto_sigma && known.noise != nullptr && same_pixels(*known.pixels, source)) {
      noise = *known.noise;
    } else {
      const auto measure = [&](const Callbacks& callbacks) {
        return engine_.noise_for(params_, source.image(), callbacks, noise, &estimate);
      };
      Status status = run_beside(measure, share(progress, kReadShare, kEstimateShare));
      if (!status.ok()) return status;
    }
    return denoise(source, noise, estimate, progress);
  }

 private:
  // Sigma is measured on the whole layer, whatever is selected: preview and result agree, and so do
  // two selections.
  Rect source_rect() const {
    if (params_.auto_sigma) return io_.whole();
    const PixelFormat format = io_.encoding().format;
    const NoiseModel noise = white_noise(format.colours(), static_cast<float>(params_.sigma));
    Rect source;
    throw_if_failed(
        engine_.source_rect(params_, format, noise, target_, io_.width(), io_.height(), source));
    return source;
  }

  Status denoise(const PixelBuffer& source, const NoiseModel& noise, double estimate,
                 const Fraction& progress) {
    PixelBuffer result(io_.encoding().format, io_.width(), io_.height(), target_);
    const double start = kReadShare + kEstimateShare;
    const auto compute = [&](const Callbacks& callbacks) {
      return engine_.denoise(params_, noise, source.image(), result.writable(), callbacks,
                             report_.engine);
    };
    Status status = run_beside(compute, share(progress, start, 1 - start - kWriteShare));
    report_.engine.estimate = estimate;
    if (!status.ok() || !report_.engine.changed) return status;
    const Stopwatch watch;
    if (!io_.replace(source, result, share(progress, 1 - kWriteShare, kWriteShare))) {
      return {ErrorCode::kBadInput, _("GIMP did not take the new pixels; nothing was changed.")};
    }
    report_.write = watch.seconds();
    return {};
  }

  Engine& engine_;
  DrawableIo io_;
  const Params& params_;
  RunReport& report_;
  Rect target_;
};

}  // namespace

Status denoise_drawable(Engine& engine, GimpDrawable* drawable, const Params& params,
                        const Known& known, const Fraction& progress, RunReport& report) {
  const Stopwatch watch;
  gchar* name = gimp_item_get_name(GIMP_ITEM(drawable));
  report.drawable = name;
  g_free(name);
  report.params = params;
  Status status;
  const Status guarded =
      guard([&] { status = DrawableRun(engine, drawable, params, report).run(known, progress); });
  report.total = watch.seconds();
  return guarded.ok() ? status : guarded;
}

}  // namespace grainless
