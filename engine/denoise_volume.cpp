// SPDX-License-Identifier: MIT
// Volumes, and the parts of one: which way each takes.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "checks.h"
#include "denoise.h"
#include "engine/boundary/plan.h"
#include "engine/boundary/volume_plan.h"
#include "engine/plan/fusion_plan.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/make_volume_plan.h"
#include "engine/plan/stack_plan.h"
#include "engine_impl.h"
#include "sentence.h"
#include "stack.h"
#include "stopwatch.h"
#include "volume.h"

namespace grainless {

struct VolumeRequest {
  const Params* params;
  int32_t depth;
  const NoiseModel* noise;
  VolumePixels pixels;

  bool fuses() const { return fuses_stack(*params, *noise); }
  VolumePlan plan() const {
    return make_volume_plan(*params, depth, shape().format.colours(), *noise);
  }
  StackPlan stack_plan() const {
    return make_stack_plan(*params, depth, shape().format.colours(), *noise);
  }
  LayersShape shape() const {
    const ConstImage& one = pixels.source.layers.front();
    return {one.format, one.width, one.height, pixels.source.count};
  }
  VolumeBox source_box(const VolumeBox& box) const {
    return fuses() ? stack_source_box(stack_plan(), box, shape())
                   : volume_source_box(plan(), box, shape());
  }
  const ConstImage& under_target(int32_t i) const {
    return pixels.source.layers[static_cast<size_t>(pixels.target.first - pixels.source.first + i)];
  }
};

namespace {

void check_part(const VolumeRequest& request) {
  const auto& [source, target] = request.pixels;
  check_volume_params(*request.params, request.depth);
  check_layers(source.layers, target.layers);
  const MutableImage& one = target.layers.front();
  const VolumeBox box{one.rect, target.first, static_cast<int32_t>(target.layers.size())};
  const VolumeBox needed = request.source_box(box);
  const auto held = static_cast<int32_t>(source.layers.size());
  const bool layers = target.count == source.count && target.first >= 0 &&
                      box.first + box.layers <= target.count && source.first <= needed.first &&
                      source.first + held >= needed.first + needed.layers;
  const bool pixels =
      std::all_of(source.layers.begin(), source.layers.end(),
                  [&](const ConstImage& image) { return image.rect.contains(needed.rect); }) &&
      std::all_of(target.layers.begin(), target.layers.end(),
                  [&](const MutableImage& image) { return image.rect == one.rect; });
  if (!layers || !pixels) {
    throw Error(ErrorCode::kInternal, "source and target don't fit each other");
  }
}

}  // namespace

void Engine::Impl::denoise_volume(const VolumeRequest& request, const Callbacks& callbacks,
                                  Report& report) {
  check_part(request);
  const auto& [given, depth, noise, pixels] = request;
  const VolumePart<MutableImage>& target = pixels.target;
  const auto layers = static_cast<int32_t>(target.layers.size());
  report.noise = *noise;
  bool noisy = false;
  for (int32_t c = 0; c < noise->channels; ++c) noisy |= noise->sigma[0][c] > 0;
  const VolumePlan volume = request.plan();
  const ValueRange valid = request.fuses() ? request.stack_plan().fusion.valid : volume.valid;
  std::atomic<int64_t> replaced{0};
  pool.parallel_for(layers, [&](int32_t z, int32_t) {
    replaced += count_replaced(request.under_target(z), target.layers[z].rect, valid);
  });
  report.replaced_pixels = replaced;
  // What layers differ by may be taken out of them though each alone shows no noise.
  const bool fused = noise->stack.between.known &&
                     fuses_anything(request.stack_plan().fusion, given->detail < 100);
  const bool lone = noise->lone && !changes_nothing(*given, told_noise(*noise));
  report.changed = fused || lone || !changes_nothing(*given, *noise);
  if (!report.changed) {
    report.note = noisy ? sentence("these settings remove nothing")
                        : sentence("little or no noise was found");
    report.device = "none";
    for (int32_t z = 0; z < layers; ++z) copy_pixels(request.under_target(z), target.layers[z]);
    return callbacks.report(1.0);
  }
  report.noise = told_noise(*noise);
  if (request.fuses()) return denoise_stack(request, callbacks, report);
  Params params = *given;
  params.scales = 1;
  params.shadows = params.highlights = 100;
  Plan plan = make_plan(params, request.shape().format, *noise);
  set_bend(plan, {}, noise->range);
  plan.valid = volume.valid;
  run(
      VolumeWork(plan, volume, pixels, callbacks), params,
      [&](const Backend& backend) { return backend.supports_volume(plan, volume); }, report);
}

void Engine::Impl::denoise_stack(const VolumeRequest& request, const Callbacks& callbacks,
                                 Report& report) {
  const StackPlan stack = request.stack_plan();
  const auto run_picture = [&](const Plan& plan, const ConstImage& source,
                               const MutableImage& target, const Callbacks& part) {
    Report one;
    run(
        ImageWork(plan, source, target, part), *request.params,
        [&](const Backend& backend) { return backend.supports(plan); }, one);
    add_part(one, report);
  };
  run_stack(stack, request.pixels, static_cast<float>(request.params->detail / 100), pool,
            callbacks, run_picture);
  if (!report.device.empty()) return;
  // The layers' mean was all that was wanted.
  report.device = registry.cpu()->name();
  report.device_description = registry.cpu()->description();
}

RunVolume Engine::Impl::volumes_on_the_processor() {
  return [this](const Params& params, int32_t depth, const NoiseModel& noise,
                const VolumePixels& pixels, const Callbacks& callbacks) {
    Report report;
    denoise_volume({&params, depth, &noise, pixels}, callbacks, report);
  };
}

Status Engine::denoise_volume(const Params& params, int32_t depth,
                              std::span<const ConstImage> layers,
                              std::span<const MutableImage> targets, const Callbacks& callbacks,
                              Report& report) {
  report = {};
  double estimate = 0;
  Status status = guard([&] {
    check_volume_params(params, depth);
    check_layers(layers, targets);
    if (layers.size() != targets.size()) {
      throw Error(ErrorCode::kBadInput, sentence("a volume needs layers, and a target for each"));
    }
    NoiseModel noise;
    throw_if_failed(
        volume_noise(params, layers, part_of(callbacks, 0, kMeasuredShare), noise, &estimate));
    const auto count = static_cast<int32_t>(layers.size());
    throw_if_failed(denoise_volume_part(params, depth, noise,
                                        {{count, 0, layers}, {count, 0, targets}},
                                        part_of(callbacks, kMeasuredShare, 1), report));
  });
  report.estimate = estimate;
  return status;
}

Status Engine::volume_source(const Params& params, int32_t depth, const NoiseModel& noise,
                             const LayersShape& shape, const VolumeBox& box, VolumeBox& source) {
  return guard([&] {
    check_volume_params(params, depth);
    if (fuses_stack(params, noise)) {
      source = stack_source_box(make_stack_plan(params, depth, shape.format.colours(), noise), box,
                                shape);
      return;
    }
    source = volume_source_box(make_volume_plan(params, depth, shape.format.colours(), noise), box,
                               shape);
  });
}

Status Engine::denoise_volume_part(const Params& params, int32_t depth, const NoiseModel& noise,
                                   const VolumePixels& pixels, const Callbacks& callbacks,
                                   Report& report) {
  const Stopwatch watch;
  report = {};
  Params own = params;
  own.impulse = static_cast<int32_t>(ImpulseWay::kOff);
  const Status status =
      guard([&] { impl_->denoise_volume({&own, depth, &noise, pixels}, callbacks, report); });
  report.total = watch.seconds();
  return status;
}

}  // namespace grainless
