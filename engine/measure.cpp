// SPDX-License-Identifier: MIT
// The engine's measurements: of pictures, of pictures in bands, and of volumes.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "checks.h"
#include "denoise.h"
#include "engine/noise/clip_curve.h"
#include "engine/noise/corner_gain.h"
#include "engine/noise/given_noise.h"
#include "engine/noise/impulses.h"
#include "engine/noise/picture_range.h"
#include "engine/noise/sample.h"
#include "engine/noise/volume_noise.h"
#include "engine/plan/fusion_plan.h"
#include "engine/plan/stack_plan.h"
#include "engine_impl.h"
#include "lone_layers.h"
#include "mean_shares.h"
#include "registration.h"
#include "sentence.h"
#include "stack_trial.h"
#include "stopwatch.h"

namespace grainless {
namespace {

bool are_those_measured(std::span<const ConstImage> layers, int32_t count) {
  if (layers.empty()) return false;
  const ConstImage& one = layers.front();
  return layers.size() == measured_layers({one.format, one.width, one.height, count}).size();
}

Sample whole_sample(const ConstImage& image, const PictureRange& range, ThreadPool& pool,
                    const Callbacks& callbacks) {
  const std::vector<SampleTile> tiles = sample_tiles(image.width, image.height, kSampleTiles);
  return take_sample(
      image.format.colours(), tiles, [&](size_t) { return image; }, range, pool, callbacks);
}

PictureNoise measured_noise(Sample sample, const Rect& whole, const PictureRange& range,
                            NoiseKind kind, ThreadPool& pool, const Callbacks& callbacks) {
  const Impulses impulses = mend_impulses(sample, range, pool);
  PictureNoise noise = estimate_cornered_noise(sample, whole, range, kind, pool, callbacks);
  noise.impulses = impulses;
  noise.range = range;
  return noise;
}

// Little is looked at where sigma is given, unless the picture seems to show noise that was cut
// off.
NoiseModel noise_beside_given(const Params& params, Sample sample, const Rect& whole,
                              const PictureRange& range, ThreadPool& pool,
                              const Callbacks& callbacks) {
  const Impulses impulses = mend_impulses(sample, range, pool);
  PictureNoise measured;
  measured.channels = sample.channels;
  if (params.sigma > 0 && range.is_usual() && may_show_even_clip(sample, pool)) {
    measured = estimate_cornered_noise(sample, whole, range, NoiseKind::kSure, pool, callbacks);
  }
  measured.impulses = impulses;
  measured.range = range;
  return given_noise(params, measured);
}

PictureNoise picture_noise(const ConstImage& whole, NoiseKind kind, ThreadPool& pool,
                           const Callbacks& callbacks) {
  const PictureRange range = picture_range({&whole, 1});
  return measured_noise(whole_sample(whole, range, pool, callbacks), whole.rect, range, kind, pool,
                        callbacks);
}

}  // namespace

std::vector<int32_t> measured_layers(const LayersShape& shape) {
  constexpr int32_t kSpread = 9;
  const int64_t count = shape.count, pixels = int64_t{shape.width} * shape.height;
  const bool all =
      count <= kMostMeasured && count * pixels <= kMeasuredBytes / shape.format.pixel_bytes();
  const int32_t measured = all ? shape.count : std::min(shape.count, kSpread);
  std::vector<int32_t> layers;
  for (int32_t i = 0; i < measured; ++i) {
    layers.push_back(static_cast<int32_t>((int64_t{2} * i + 1) * count / (2 * measured)));
  }
  return layers;
}

Status Engine::estimate(const ConstImage& image, NoiseKind kind, const Callbacks& callbacks,
                        NoiseModel& noise) {
  return guard([&] {
    check_whole(image);
    noise = {picture_noise(image, kind, impl_->pool, callbacks)};
  });
}

Status Engine::noise_for(const Params& params, const ConstImage& whole, const Callbacks& callbacks,
                         NoiseModel& noise, double* seconds) {
  const Stopwatch watch;
  Status status = validate(params);
  if (status.ok() && params.auto_sigma) {
    status = estimate(whole, static_cast<NoiseKind>(params.noise), callbacks, noise);
  } else if (status.ok()) {
    status = guard([&] {
      check_whole(whole);
      const PictureRange range = picture_range({&whole, 1});
      noise = noise_beside_given(params, whole_sample(whole, range, impl_->pool, callbacks),
                                 whole.rect, range, impl_->pool, callbacks);
    });
  }
  if (seconds != nullptr) *seconds = watch.seconds();
  return status;
}

Status Engine::noise_for(const Params& params, Survey& survey, const Callbacks& callbacks,
                         NoiseModel& noise, double* seconds) {
  const Stopwatch watch;
  const Status status = guard([&] {
    throw_if_failed(validate(params));
    if (params.auto_sigma) {
      noise = {measured_noise(survey.sample(impl_->pool, callbacks), survey.whole(), survey.range(),
                              static_cast<NoiseKind>(params.noise), impl_->pool, callbacks)};
      return;
    }
    noise = noise_beside_given(params, survey.sample(impl_->pool, callbacks), survey.whole(),
                               survey.range(), impl_->pool, callbacks);
  });
  if (seconds != nullptr) *seconds = watch.seconds();
  return status;
}

std::vector<Rect> Engine::looked_at(PixelFormat format, int32_t width, int32_t height) {
  if (has_range(format)) return {{0, 0, width, height}};
  std::vector<Rect> parts;
  for (const SampleTile& tile : sample_tiles(width, height, kSampleTiles)) {
    parts.push_back({tile.x, tile.y, tile.width, tile.height});
  }
  return parts;
}

Status Engine::volume_noise(const Params& params, std::span<const ConstImage> layers,
                            const Callbacks& callbacks, NoiseModel& noise, double* seconds) {
  if (layers.empty()) {
    return {ErrorCode::kBadInput, sentence("a volume needs layers, and a target for each")};
  }
  const ConstImage& one = layers.front();
  const auto count = static_cast<int32_t>(layers.size());
  std::vector<ConstImage> measured;
  for (const int32_t z : measured_layers({one.format, one.width, one.height, count})) {
    measured.push_back(layers[static_cast<size_t>(z)]);
  }
  return volume_noise(params, count, measured, callbacks, noise, seconds);
}

Status Engine::volume_noise(const Params& params, int32_t count,
                            std::span<const ConstImage> measured, const Callbacks& callbacks,
                            NoiseModel& noise, double* seconds) {
  const Stopwatch watch;
  const Status status = guard([&] {
    throw_if_failed(validate(params));
    for (const ConstImage& layer : measured) check_whole(layer);
    if (!are_those_measured(measured, count)) {
      throw Error(ErrorCode::kInternal, "a volume's noise is measured on other layers");
    }
    const bool all = measured.size() == static_cast<size_t>(count);
    // What each part took of 31 layers of 1536 x 1024 that move.
    constexpr double kEstimated = 0.6, kRegistered = 0.82, kShared = 0.84, kTried = 0.96;
    noise = estimate_volume_noise(measured, all, static_cast<NoiseKind>(params.noise), impl_->pool,
                                  part_of(callbacks, 0, kEstimated));
    noise.range = picture_range(measured);
    // What is tried is compared with layers as they are.
    const ClipCurve clip = std::exchange(noise.stack.even_clip, {});
    if (all && follows_motion(noise)) {
      register_layers(measured, impl_->pool, part_of(callbacks, kEstimated, kRegistered), noise);
    }
    // Both look at parts, whose middle is not the layer's.
    if (noise.corners.enabled == 0) {
      if (noise.stack.strengths.count == 0) {
        measure_mean_shares(measured, impl_->pool, part_of(callbacks, kRegistered, kShared),
                            impl_->on_the_processor(), noise);
      }
      try_ways(measured, all, impl_->pool, part_of(callbacks, kShared, kTried),
               impl_->volumes_on_the_processor(), noise);
    }
    if (noise.range.is_usual()) noise.stack.even_clip = clip;
    // A sigma that is given is all layers'.
    if (all && params.auto_sigma) {
      const auto measure = [&](const ConstImage& layer) {
        return picture_noise(layer, static_cast<NoiseKind>(params.noise), impl_->pool,
                             {callbacks.cancel, {}});
      };
      find_lone_layers(measured, impl_->pool, part_of(callbacks, kTried, 1), measure, noise);
    }
    noise = grainless::asked_noise(params, noise);
    callbacks.report(1);
  });
  if (seconds != nullptr) *seconds = watch.seconds();
  return status;
}

NoiseModel Engine::asked_noise(const Params& params, const NoiseModel& measured) {
  return grainless::asked_noise(params, measured);
}

Status Engine::noise_curve(const ConstImage& image, const NoiseArea& area, const NoiseModel& model,
                           const Callbacks& callbacks, NoiseCurve& curve) {
  return guard([&] {
    check_image(image.format, image.width, image.height, image.rect, image.data);
    curve = measure_noise_curve(image, area, model, impl_->pool, callbacks);
  });
}

Status Engine::area_noise(const ConstImage& image, const NoiseArea& area,
                          const Callbacks& callbacks, AreaNoise& noise) {
  return guard([&] {
    check_image(image.format, image.width, image.height, image.rect, image.data);
    noise = measure_area_noise(image, area, impl_->pool, callbacks);
  });
}

}  // namespace grainless
